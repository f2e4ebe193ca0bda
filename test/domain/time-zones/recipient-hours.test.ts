/** Proves when a campaign may reach a recipient, by the recipient’s time zones. */

import {
  type HourOptions,
  openHours,
  runStart,
  zonesOf,
} from '../../../src/domain/time-zones/recipient-hours';

const utc = (text: string) => Date.parse(`${text}Z`);
const next = (options: HourOptions, place: string | null, at: string) =>
  new Date(openHours(options, 'voice').nextFor(place, utc(at))).toISOString().slice(0, 16);

test('a place without a zone of its own is in the campaign’s, then in a window’s, then in UTC', () => {
  const quietHours = { from: '21:00', to: '08:00', timezone: 'Asia/Tokyo' };
  const schedule = { timezone: 'Europe/Rome' };
  expect(zonesOf(null, { delivery: { quietHours }, schedule })).toEqual(['Europe/Rome']);
  expect(zonesOf(null, { delivery: { quietHours } })).toEqual(['Asia/Tokyo']);
  expect(zonesOf('+000', {})).toEqual(['UTC']);
  expect(zonesOf('Mars/Olympus', { schedule })).toEqual(['Europe/Rome']);
});

test('where the zones of a number never agree, the campaign’s zone decides', () => {
  const options = {
    schedule: { timezone: 'America/Chicago' },
    voice: { callWindow: { from: '09:00', to: '17:00' } },
  };
  expect(next(options, '+1', '2026-12-01T12:00')).toBe('2026-12-01T15:00');
  expect(next(options, '+1312', '2026-12-01T12:00')).toBe('2026-12-01T15:00');
  expect(next(options, '+1202', '2026-12-01T12:00')).toBe('2026-12-01T14:00');
});

test('hours that no zone ever has are looked for again in two weeks', () => {
  const options = {
    delivery: { quietHours: { from: '21:00', to: '08:00' } },
    voice: { callWindow: { from: '22:00', to: '23:00' } },
  };
  expect(next(options, 'UTC', '2026-12-01T12:00')).toBe('2026-12-15T12:00');
});

test('what was found for one minute and zone is not used for another', () => {
  const hours = openHours({ delivery: { quietHours: { from: '21:00', to: '08:00' } } }, 'sms');
  const at = utc('2026-12-01T20:59');
  expect(hours.nextFor('UTC', at + 59_000)).toBe(at + 59_000);
  expect(hours.nextFor('Asia/Tokyo', at + 59_000)).toBe(utc('2026-12-01T23:00'));
  expect(hours.nextFor('UTC', at + 60_000)).toBe(utc('2026-12-02T08:00'));
});

test('a run begins at its hour, or when the first clocks show it', () => {
  const startAt = '2026-12-01T09:00:00+01:00';
  const begins = (schedule: HourOptions['schedule']) => runStart({ schedule });
  expect(begins(undefined)).toBeUndefined();
  expect(begins({ startAt, timezone: 'Asia/Tokyo' })).toBe(utc('2026-12-01T08:00'));
  expect(begins({ startAt, recipientLocal: true })).toBe(utc('2026-11-30T19:00'));
  expect(begins({ startAt, recipientLocal: true, timezone: 'Asia/Tokyo' })).toBe(utc('2026-12-01T03:00'));
});
