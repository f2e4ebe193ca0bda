/** Proves that what members say together is checked beside what is wrong with others of them. */

import { accountBody } from '../../src/contracts/accounts';
import { explainQuery } from '../../src/contracts/explain';

const smtp = { kind: 'smtp', settings: { events: 'mailgun' }, secrets: { url: 'smtp://mail.example' } };
const twilio = {
  kind: 'twilio',
  settings: { accountSid: `AC${'0'.repeat(32)}`, apiKey: 'SK1' },
  secrets: {},
};

test.each([
  ['an explanation', explainQuery, { campaign: 'cmp_1', channel: 'fax' }, ['channel', 'to']],
  ['an smtp account', accountBody, { ...smtp, name: 5 }, ['name', 'secrets.signingKey']],
  ['a twilio account', accountBody, { ...twilio, name: 5 }, ['name', 'secrets.apiSecret']],
])('%s names every finding', (_, schema, input, expected) => {
  const { error } = schema.safeParse(input);
  const paths = new Set(error?.issues.map(({ path }) => path.join('.')));
  for (const path of expected) expect([...paths]).toContain(path);
});

test.each([
  ['2025550123', undefined],
  ['12025550123', undefined],
  ['Ada Lovelace', undefined],
  ['+1 (202) 555-0123', '+12025550123'],
  // A plus in a query arrives as a space.
  [' 12025550123', '+12025550123'],
  [' ada@example.com ', 'ada@example.com'],
])('a person who is asked about as %j is looked for as %j', (to, expected) => {
  const { data, error } = explainQuery.safeParse({ campaign: 'cmp_1', to });
  expect(data?.to).toBe(expected);
  const findings = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  if (expected === undefined) {
    expect(findings).toEqual(['to: This must be an email address, or a phone number such as +14155550123']);
  }
});

test.each([
  { kind: 'smtp', name: 'N', settings: 'text', secrets: null },
  { kind: 'twilio', name: 'N' },
  { ...smtp, name: 'N', settings: { events: 'constructor' } },
  { ...smtp, name: 'N', settings: { events: { toString: 1 } } },
])('%j is refused, whatever its groups are', (input) => {
  expect(accountBody.safeParse(input).success).toBe(false);
});
