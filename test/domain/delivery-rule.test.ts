/** Proves when a recipient’s time is over, and what follows a failed attempt. */

import { deliveryRule, expiryOf, waitUntil } from '../../src/domain/delivery-rule';

const DUE = new Date('2027-03-01T12:00:00Z');
const at = (time: string): number => Date.parse(`2027-03-01T${time}:00Z`);

test('a recipient has time for ever, until its own time is over, or until the campaign ends', () => {
  const hour = { expireAfterSeconds: 3_600 };
  const ends = (endAt: string) => ({ endAt: `2027-03-01T${endAt}:00Z` });
  expect(expiryOf(deliveryRule(), DUE)).toBe(Number.POSITIVE_INFINITY);
  expect(expiryOf(deliveryRule({ delivery: hour }), DUE)).toBe(at('13:00'));
  expect(expiryOf(deliveryRule({ schedule: ends('12:30') }), DUE)).toBe(at('12:30'));
  expect(expiryOf(deliveryRule({ delivery: hour, schedule: ends('12:30') }), DUE)).toBe(at('12:30'));
  expect(expiryOf(deliveryRule({ delivery: hour, schedule: ends('14:00') }), DUE)).toBe(at('13:00'));
});

test('the end of a recurring campaign ends no occurrence that has begun', () => {
  const schedule = { cron: '0 9 * * *', endAt: '2027-03-01T12:30:00Z' };
  expect(expiryOf(deliveryRule({ schedule }), DUE)).toBe(Number.POSITIVE_INFINITY);
});

test('who would wait beyond the end is expired at once', () => {
  const rule = deliveryRule({ schedule: { endAt: '2027-03-01T12:30:00Z' } });
  expect(waitUntil(rule, { dueAt: DUE }, at('12:31'), 'quiet_hours')).toMatchObject({ state: 'expired' });
  expect(waitUntil(rule, { dueAt: DUE }, at('12:29'), 'quiet_hours')).toMatchObject({ state: 'waiting' });
});
