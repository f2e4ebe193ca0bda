/** Proves that a finding says what to write where zod's own words do not. */

import { campaignBody } from '../../src/contracts/campaigns';
import { policyBody } from '../../src/contracts/policy';
import { message } from '../../src/contracts/send';

const VALUE = 'This must be text or a number';
const PACE =
  'This must be at least one recipient a day (1/86400); leave it out for no limit, and pause the campaign to send nothing';

test.each([
  ['a value that is a truth', message, { params: { VIP: true } }, 'params.VIP', VALUE],
  ['a value that is a list', campaignBody, { params: { A: ['x'] } }, 'params.A', VALUE],
  ['no pace', campaignBody, { delivery: { ratePerSecond: 0 } }, 'delivery.ratePerSecond', PACE],
  [
    'a number as text',
    policyBody,
    { smsOptOutText: 5 },
    'smsOptOutText',
    'This must be a text, or an object with text and onlyFirst',
  ],
])('%s', (_, schema, input, path, expected) => {
  const { error } = schema.safeParse(input);
  const found = error?.issues.filter((issue) => issue.path.join('.') === path);
  expect(found?.map((issue) => issue.message)).toEqual([expected]);
});

test.each([
  ['a campaign', campaignBody, [{ name: 'A' }]],
  ['a message', message, [{ channel: 'sms' }]],
])('%s that is a list is that and nothing else', (_, schema, input) => {
  expect(schema.safeParse(input).error?.issues.map(({ path }) => path)).toEqual([[]]);
});
