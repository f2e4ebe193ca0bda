/** Proves which cron expressions are accepted, and when they occur. */

import { CronFault, lastOccurrence, nextOccurrence, parseCron, withBothDays } from '../../src/domain/cron';

const following = (cron: string, zone: string, from: string, count = 3): string[] => {
  const found: string[] = [];
  for (let at = Date.parse(from) - 1; found.length < count; ) {
    const next = nextOccurrence(parseCron(cron), zone, at);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().slice(0, 16));
    at = next;
  }
  return found;
};

describe('a cron expression', () => {
  test.each([
    ['0 9 * * *', ['2027-01-01T09:00', '2027-01-02T09:00', '2027-01-03T09:00']],
    ['*/25 9 * * *', ['2027-01-01T09:00', '2027-01-01T09:25', '2027-01-01T09:50']],
    ['5/20 0 * * *', ['2027-01-01T00:05', '2027-01-01T00:25', '2027-01-01T00:45']],
    ['0 0 * * 7', ['2027-01-03T00:00', '2027-01-10T00:00', '2027-01-17T00:00']],
    ['0 0 * * fri-SAT', ['2027-01-01T00:00', '2027-01-02T00:00', '2027-01-08T00:00']],
    ['0 0 * * 5-7', ['2027-01-01T00:00', '2027-01-02T00:00', '2027-01-03T00:00']],
    ['00 0 1 March,jul *', ['2027-03-01T00:00', '2027-07-01T00:00', '2028-03-01T00:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['0 0 31 * *', ['2027-01-31T00:00', '2027-03-31T00:00', '2027-05-31T00:00']],
    // Either kind of day will do when both are given, and both must match when one is any.
    ['0 9 13 * 5', ['2027-01-01T09:00', '2027-01-08T09:00', '2027-01-13T09:00']],
    ['0 0 */10 * 0', ['2027-01-31T00:00', '2027-02-21T00:00', '2027-03-21T00:00']],
    ['0 0 30 2 *', []],
  ])('%s is due when it says', (cron, expected) => {
    expect(following(cron, 'UTC', '2027-01-01T00:00Z')).toEqual(expected);
  });

  test('a leap day is found over the longest gap there is', () => {
    expect(following('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00']);
  });

  test.each([
    '',
    '* * * *',
    '* * * * * *',
    '@daily',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '0 22-2 * * *',
    '* * * * fri-sun',
    '*/0 * * * *',
    '1,,2 * * * *',
    '1-2-3 * * * *',
    '? * * * *',
    '* * L * *',
    '-1 * * * *',
    '* * * foo *',
    '1.5 * * * *',
    '*/-1 * * * *',
  ])('"%s" is refused', (cron) => {
    expect(() => parseCron(cron)).toThrow(CronFault);
  });

  test('a time that clocks skip comes after the gap, and one shown twice comes once', () => {
    expect(following('30 2 * * *', 'Europe/Berlin', '2027-03-27T00:00Z')).toEqual([
      '2027-03-27T01:30',
      '2027-03-28T01:00',
      '2027-03-29T00:30',
    ]);
    expect(following('30 2 * * *', 'Europe/Berlin', '2027-10-30T00:00Z')).toEqual([
      '2027-10-30T00:30',
      '2027-10-31T00:30',
      '2027-11-01T01:30',
    ]);
  });

  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2027-10-31T00:00Z'],
    ['30 2 * * *', 'Europe/Berlin', '2027-03-28T00:00Z'],
    ['*/20 * * * *', 'America/New_York', '2027-11-07T04:00Z'],
    ['0 12 30 * *', 'Pacific/Apia', '2011-12-29T00:00Z'],
  ])('the last occurrence of %s in %s is where the next ones were found', (cron, zone, from) => {
    const parsed = parseCron(cron);
    for (const found of following(cron, zone, from, 12)) {
      const at = Date.parse(`${found}:00Z`);
      expect(lastOccurrence(parsed, zone, at)).toBe(at);
      expect(lastOccurrence(parsed, zone, at + 59_000)).toBe(at);
      expect(lastOccurrence(parsed, zone, at - 1)).toBeLessThan(at);
    }
  });

  test('is given to Temporal, which wants both kinds of days to match, as two when either will do', () => {
    expect(withBothDays('0 9 13  * 5')).toEqual(['0 9 * * 5', '0 9 13 * *']);
    expect(withBothDays('0 9 */2 * 5')).toEqual(['0 9 */2 * 5']);
  });
});
