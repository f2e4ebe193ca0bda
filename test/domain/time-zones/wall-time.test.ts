/** Proves the conversion between instants and wall times, at the changes of the clocks too. */

import fc from 'fast-check';
import { instantOf, isIanaZone, offsetAt, wallTimeAt } from '../../../src/domain/time-zones/wall-time';
import { anyInstant, anyZone } from './zones';

const utc = (text: string) => Date.parse(`${text}Z`);
const shown = (zone: string, wall: string) => new Date(instantOf(zone, utc(wall))).toISOString();

test('names and their aliases are zones, offsets and inventions are not', () => {
  for (const name of ['Europe/Berlin', 'Asia/Calcutta', 'Asia/Kolkata', 'America/Buenos_Aires', 'UTC']) {
    expect([name, isIanaZone(name)]).toEqual([name, true]);
  }
  for (const name of ['', '+05:00', 'Europe/Berlino', 'recipient', 'local', '../etc/passwd']) {
    expect([name, isIanaZone(name)]).toEqual([name, false]);
  }
});

test('a wall time is an instant by the offset that is in force then', () => {
  expect(shown('Europe/Berlin', '2026-12-01T09:00')).toBe('2026-12-01T08:00:00.000Z');
  expect(shown('Europe/Berlin', '2026-07-01T09:00')).toBe('2026-07-01T07:00:00.000Z');
  expect(shown('Asia/Kathmandu', '2026-12-01T09:00')).toBe('2026-12-01T03:15:00.000Z');
  expect(shown('Pacific/Kiritimati', '2026-12-01T09:00')).toBe('2026-11-30T19:00:00.000Z');
  expect(shown('Pacific/Niue', '2026-12-01T00:30')).toBe('2026-12-01T11:30:00.000Z');
});

test('a wall time that is skipped is the first instant after the gap', () => {
  expect(shown('Europe/Oslo', '2026-03-29T02:30')).toBe('2026-03-29T01:00:00.000Z');
  expect(shown('America/New_York', '2026-03-08T02:00')).toBe('2026-03-08T07:00:00.000Z');
  expect(shown('Australia/Lord_Howe', '2026-10-04T02:10')).toBe('2026-10-03T15:30:00.000Z');
});

test('a wall time that happens twice is the first of the two', () => {
  expect(shown('Europe/Oslo', '2026-10-25T02:30')).toBe('2026-10-25T00:30:00.000Z');
  expect(shown('America/New_York', '2026-11-01T01:00')).toBe('2026-11-01T05:00:00.000Z');
  expect(shown('Australia/Lord_Howe', '2026-04-05T01:45')).toBe('2026-04-04T14:45:00.000Z');
});

test('what clocks show leads back to the instant, or to the same hour before clocks were put back', () => {
  fc.assert(
    fc.property(anyZone, anyInstant, (zone, at) => {
      const back = instantOf(zone, wallTimeAt(zone, at));
      expect(wallTimeAt(zone, back)).toBe(wallTimeAt(zone, at));
      expect(back).toBeLessThanOrEqual(at);
      if (back < at) expect(offsetAt(zone, back)).toBeGreaterThan(offsetAt(zone, at));
    }),
    { numRuns: 1_000 },
  );
});

test('an instant is found for whatever a clock could show, and later ones for later', () => {
  const laterMs = fc.integer({ min: 0, max: 7_200 }).map((seconds) => seconds * 1_000);
  fc.assert(
    fc.property(anyZone, anyInstant, laterMs, (zone, wall, later) => {
      const at = instantOf(zone, wall);
      expect(wallTimeAt(zone, at)).toBeGreaterThanOrEqual(wall);
      if (wallTimeAt(zone, at) > wall) expect(wallTimeAt(zone, at - 1_000)).toBeLessThan(wall);
      expect(instantOf(zone, wall + later)).toBeGreaterThanOrEqual(at);
    }),
    { numRuns: 1_000 },
  );
});
