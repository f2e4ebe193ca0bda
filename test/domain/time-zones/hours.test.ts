/** Proves which instants quiet hours and windows allow. */

import fc from 'fast-check';
import { type HourRule, isAllowed, nextAllowed, WEEKDAYS } from '../../../src/domain/time-zones/hours';
import { wallTimeAt } from '../../../src/domain/time-zones/wall-time';
import { anyInstant, anyZone } from './zones';

const MINUTE_MS = 60_000;
const utc = (text: string) => Date.parse(`${text}Z`);
const quiet = (from: string, to: string, more: object = {}): HourRule => ({
  kind: 'quiet',
  window: { from, to, ...more },
});
const open = (from: string, to: string, more: object = {}): HourRule => ({
  kind: 'open',
  window: { from, to, ...more },
});
const next = (rules: HourRule[], zones: string[], at: string) => {
  const found = nextAllowed(rules, zones, utc(at));
  return found === undefined ? undefined : new Date(found).toISOString().slice(0, 16);
};

const NIGHT = quiet('21:00', '08:00');

test('quiet hours that pass midnight hold in the evening and in the morning', () => {
  for (const [at, allowed] of [
    ['20:59', true],
    ['21:00', false],
    ['00:00', false],
    ['07:59', false],
    ['08:00', true],
  ] as const) {
    expect([at, isAllowed([NIGHT], ['UTC'], utc(`2026-12-01T${at}`))]).toEqual([at, allowed]);
  }
  expect(next([NIGHT], ['Europe/Berlin'], '2026-12-01T22:00')).toBe('2026-12-02T07:00');
  expect(next([NIGHT], ['Europe/Berlin'], '2026-12-02T10:00')).toBe('2026-12-02T10:00');
});

test('the days of a window are those on which it begins', () => {
  const weekendNights = quiet('21:00', '08:00', { days: ['fri'] });
  expect(next([weekendNights], ['UTC'], '2026-12-04T22:00')).toBe('2026-12-05T08:00');
  expect(next([weekendNights], ['UTC'], '2026-12-05T22:00')).toBe('2026-12-05T22:00');
  expect(next([open('09:00', '17:00', { days: ['mon', 'tue'] })], ['UTC'], '2026-12-01T18:00')).toBe(
    '2026-12-07T09:00',
  );
});

test('every zone in which the recipient may be must allow the hour', () => {
  const coasts = ['America/New_York', 'America/Los_Angeles'];
  expect(next([NIGHT], coasts, '2026-12-01T13:30')).toBe('2026-12-01T16:00');
  expect(next([NIGHT], coasts, '2026-12-02T02:00')).toBe('2026-12-02T16:00');
});

test('a window with a zone of its own goes by that alone', () => {
  expect(next([quiet('21:00', '08:00', { timezone: 'Asia/Tokyo' })], ['UTC'], '2026-12-01T12:00')).toBe(
    '2026-12-01T23:00',
  );
});

test('hours that never come are not found', () => {
  expect(next([open('09:00', '10:00')], ['Asia/Tokyo', 'Europe/Berlin'], '2026-12-01T12:00')).toBeUndefined();
  expect(next([open('22:00', '23:00'), NIGHT], ['UTC'], '2026-12-01T12:00')).toBeUndefined();
});

test('the hours are those that clocks show, also when they are put forward or back', () => {
  expect(next([quiet('01:00', '02:30')], ['Europe/Oslo'], '2026-03-29T00:30')).toBe('2026-03-29T01:00');
  expect(next([quiet('01:00', '02:30')], ['Europe/Oslo'], '2026-10-25T00:10')).toBe('2026-10-25T00:30');
  // The hour from two to three comes a second time, and is as quiet as the first.
  expect(isAllowed([quiet('01:00', '02:30')], ['Europe/Oslo'], utc('2026-10-25T01:10'))).toBe(false);
});

const anyTime = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 4 })),
    fc.integer({ min: 0, max: 59 }),
  )
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
const anyRule: fc.Arbitrary<HourRule> = fc
  .record({
    kind: fc.constantFrom('quiet' as const, 'open' as const),
    from: anyTime,
    to: anyTime,
    timezone: fc.option(anyZone, { nil: undefined, freq: 4 }),
    days: fc.option(fc.subarray([...WEEKDAYS], { minLength: 1 }), { nil: undefined }),
  })
  .filter(({ from, to }) => from !== to)
  .map(({ kind, ...window }) => ({ kind, window }));

/** The rule as one would say it, by looking at the minutes of the week from its beginning. */
function says({ kind, window }: HourRule, zone: string, at: number): boolean {
  const wall = new Date(wallTimeAt(zone, at));
  const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
  const length = (minutes(window.to) - minutes(window.from) + 1_440) % 1_440;
  const now = wall.getUTCDay() * 1_440 + wall.getUTCHours() * 60 + wall.getUTCMinutes();
  const inside = (window.days ?? WEEKDAYS).some((day) => {
    const begin = WEEKDAYS.indexOf(day) * 1_440 + minutes(window.from);
    return (now - begin + 10_080) % 10_080 < length;
  });
  return inside === (kind === 'open');
}

test('the instant found is allowed by every rule in every zone, and nothing before it is', () => {
  fc.assert(
    fc.property(
      fc.array(anyRule, { minLength: 1, maxLength: 2 }),
      fc.uniqueArray(anyZone, { minLength: 1, maxLength: 3 }),
      anyInstant,
      (rules, zones, at) => {
        const allowed = (instant: number) =>
          rules.every((rule) =>
            (rule.window.timezone === undefined ? zones : [rule.window.timezone]).every((zone) =>
              says(rule, zone, instant),
            ),
          );
        const found = nextAllowed(rules, zones, at);
        if (found !== undefined) {
          expect(allowed(found)).toBe(true);
          expect(isAllowed(rules, zones, found)).toBe(true);
        }
        // Two days of minutes are looked through, and the last hours before what was found.
        const end = found ?? at + 14 * 86_400_000;
        const first = Math.ceil(at / MINUTE_MS) * MINUTE_MS;
        const looked = [at];
        for (let one = first; one < Math.min(end, first + 2 * 86_400_000); one += MINUTE_MS) looked.push(one);
        for (
          let one = Math.max(first, Math.floor(end / MINUTE_MS) * MINUTE_MS - 300 * MINUTE_MS);
          one < end;
          one += MINUTE_MS
        )
          looked.push(one);
        // One expectation for all, because one for each of 200,000 minutes takes longer than what they expect.
        expect(looked.filter((one) => one < end && allowed(one))).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
