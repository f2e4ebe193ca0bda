/** Proves which codes say something about the recipient, so that the address is suppressed. */

import { recipientFinding } from '../../src/domain/delivery-codes';

describe('what a code says about the recipient', () => {
  test.each([
    ['5.1.1', 'hard'],
    ['550 5.1.1', 'hard'],
    ['550-5.1.10 null MX', 'hard'],
    ['5.1.0', 'hard'],
    ['5.1.2', 'hard'],
    ['5.2.1', 'hard'],
    ['unknown_recipient', 'hard'],
    ['4.2.2', 'soft'],
    ['5.2.2', 'soft'],
    ['complaint', 'complaint'],
    ['Opted_Out', 'opted_out'],
  ])('of email, %s: %s', (code, finding) => expect(recipientFinding('email', code)).toBe(finding));

  test.each([
    undefined,
    '550',
    '5.7.1',
    '5.7.26',
    '550 5.7.515',
    '5.1.8',
    '5.1.100',
    '4.4.1',
    '5.3.4',
    '5.6.0',
    '5.4.7',
    'constructor',
    '',
  ])('of email, %s: nothing, it is about something else', (code) =>
    expect(recipientFinding('email', code)).toBeUndefined(),
  );

  test.each([
    ['21610', 'opted_out'],
    ['opted_out', 'opted_out'],
    ['blocked_by_recipient', 'opted_out'],
    ['30007', undefined],
    ['5.1.1', undefined],
    ['unknown_recipient', undefined],
  ])('of SMS, %s: %s', (code, finding) => expect(recipientFinding('sms', code)).toBe(finding));
});
