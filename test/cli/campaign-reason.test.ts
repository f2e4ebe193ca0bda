/** Proves how the reason of a campaign’s end is printed. */

import { reasonText } from '../../src/cli/campaign-reason';

test('a reason is a sentence, or the gate that closed with its numbers', () => {
  expect(reasonText('invalid_client: refused')).toBe('invalid_client: refused');
  const gate = { code: 'gate', metric: 'undelivered', value: 0.0625, above: 0.05, sample: 160 };
  expect(reasonText(gate)).toBe('gate: undelivered 6.3 % of 160, more than 5 %');
  expect(reasonText({ code: 'another' })).toBe('another');
});
