import { validityPeriod } from '../../../src/providers/smpp/submit';

const NOW_MS = Date.parse('2026-11-22T12:00:00.000Z');
const inSeconds = (seconds: number) => new Date(NOW_MS + seconds * 1_000).toISOString();

test.each([
  [90, '000000000130000R'],
  [3_600, '000000010000000R'],
  [2 * 86_400 + 3_661, '000002010101000R'],
  [7 * 86_400, '000007000000000R'],
  [0.2, '000000000001000R'],
  [-5, '000000000001000R'],
])('a validity of %d seconds is written as %s', (seconds, written) => {
  expect(validityPeriod(inSeconds(seconds), NOW_MS)).toBe(written);
});

test('there is none without an end, or with one further away than a centre tries', () => {
  expect(validityPeriod(undefined, NOW_MS)).toBeUndefined();
  expect(validityPeriod(inSeconds(7 * 86_400 + 1), NOW_MS)).toBeUndefined();
});
