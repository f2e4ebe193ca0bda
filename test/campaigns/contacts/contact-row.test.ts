/** Proves which rows of an import become contacts, and how their fields are stored. */

import { phoneRegion } from '../../../src/campaigns/contacts/contact-fields';
import { checkContact } from '../../../src/campaigns/contacts/contact-row';
import { recipientOf } from '../../../src/contracts/addresses';
import { phonePrefix, phoneZones } from '../../../src/domain/time-zones/phone-zones';

const judged = (raw: Record<string, unknown>, country?: string) => {
  const result = checkContact(raw, country === undefined ? undefined : phoneRegion(country));
  return 'row' in result ? result.row : result.findings.map(({ field, code }) => `${field} ${code}`);
};

describe('a contact row', () => {
  test.each([
    'a@example.com',
    'first.last+tag@sub.example.org',
    "o'neil@example.net",
    'a..b@example.com',
    '.a@example.com',
    'a@b',
    'a.b@example.com',
    'a@-example.com',
    'é@example.com',
    '@example.com',
    'a@example.com, b@example.com',
    'Ann <ann@example.com>',
    `${'x'.repeat(250)}@example.com`,
    'r&d@example.com',
    'a/b@example.com',
    'a@example.xn--p1ai',
  ])('the email address %p is taken by an import if the send endpoint takes it', (email) => {
    expect(Array.isArray(judged({ email }))).toBe(!recipientOf.email.safeParse(email).success);
  });

  test.each([
    ['+1 (202) 555-0123', undefined, '+12025550123'],
    ['202.555.0123', 'US', '+12025550123'],
    ['0039 06 1234 5678', 'DE', '+390612345678'],
    ['+1 202 555 0123 ext. 7', undefined, undefined],
    ['1.2025550123E+10', 'US', undefined],
    ['+1 555 123 4567', undefined, '+15551234567'],
    ['(555) 123-4567', 'US', '+15551234567'],
    ['+1 999', undefined, undefined],
    ['+1', undefined, undefined],
    ['123', undefined, undefined],
    ['123', 'US', undefined],
    ['abc', undefined, undefined],
    // Of a length that Germany has, and E.164 has not.
    ['+49 1234', undefined, undefined],
    ['911', 'US', undefined],
    ['call me', 'US', undefined],
  ])('the phone number %p with country %p becomes %p', (phone, country, stored) => {
    const result = judged({ phone }, country);
    expect(Array.isArray(result) ? undefined : result.phone).toBe(stored);
  });

  test('a number of an unknown range has the zones of its country', () => {
    expect(recipientOf.sms.parse('+15551234567')).toBe('+15551234567');
    expect(phonePrefix('+15551234567')).toBe('+1');
    expect(phoneZones().get('1')).toContain('America/New_York');
  });

  test('is known by its external id, else its email address in lower case, else its phone number', () => {
    const identity = (raw: Record<string, unknown>) => (judged(raw) as { identity: string }).identity;
    const phone = '+12025550123';
    expect(identity({ externalId: ' X1 ', email: 'A@Example.com', phone })).toBe('x:X1');
    expect(identity({ email: 'A@Example.com', phone })).toBe('e:a@example.com');
    expect(identity({ phone })).toBe('p:+12025550123');
  });

  test.each([
    ['Europe/Rome', true],
    ['america/new_york', true],
    ['Asia/Calcutta', true],
    ['UTC', true],
    ['+02:00', false],
    ['CET+1', false],
    ['Rome', false],
  ])('the time zone %p is one: %p', (timezone, valid) => {
    expect(judged({ email: 'a@example.com', timezone })).toEqual(
      valid ? expect.objectContaining({ timezone }) : ['timezone invalid_timezone'],
    );
  });

  test.each([
    ['2025550123', undefined, /^has no country: .*\?country=US .*--country US/],
    ['(202) 555-0123', undefined, /^has no country: /],
    ['ada@example.com', undefined, /^is not a phone number/],
    ['people.csv', undefined, /^is not a phone number/],
    ['12', 'US', /^is not a phone number/],
  ])('the phone number %p of the country %p is refused with what is wrong', (phone, country, message) => {
    expect(checkContact({ phone }, country === undefined ? undefined : phoneRegion(country))).toMatchObject({
      findings: [{ field: 'phone', code: 'invalid_phone', message: expect.stringMatching(message) }],
    });
  });

  test('a name with line breaks is written on one line', () => {
    expect(judged({ email: 'a@example.com', name: 'Ada\r\n King \nLovelace\n' })).toMatchObject({
      name: 'Ada King Lovelace',
    });
  });

  test('an empty field was not given; text is trimmed; all findings come at once', () => {
    expect(judged({ email: ' a@example.com ', name: '  ', phone: null, params: { A: '' } })).toMatchObject({
      email: 'a@example.com',
      name: null,
      phone: null,
      params: {},
    });
    expect(
      judged({ email: 'x', phone: 'y', timezone: 'z', locale: '!', name: 'a\u0007b', externalId: 7 }),
    ).toEqual([
      'externalId not_a_string',
      'name invalid_characters',
      'email invalid_email',
      'phone invalid_phone',
      'timezone invalid_timezone',
      'locale invalid_locale',
    ]);
  });
});
