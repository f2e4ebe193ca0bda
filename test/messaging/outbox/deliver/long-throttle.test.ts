import { LongThrottle } from '../../../../src/messaging/outbox/deliver/throttling';
import type { HandOverResult } from '../../../../src/providers/provider';

const throttled = (retryAfterMs: number, scope?: 'message' | 'sender'): HandOverResult => ({
  ...{ kind: 'throttled', retryAfterMs, scope },
});
const ACCEPTED: HandOverResult = { kind: 'accepted', providerId: 'p' };

test('an account that throttles is passed over after a minute without a success, and not before', () => {
  const throttle = new LongThrottle();
  throttle.see([throttled(1_000)], 0);
  throttle.see([throttled(1_000)], 30_000);
  expect([throttle.isLong(60_000), throttle.isLong(60_001)]).toEqual([false, true]);
  throttle.see([ACCEPTED], 61_000);
  expect(throttle.isLong(200_000)).toBe(false);
});

test('a success among others begins the minute anew', () => {
  const throttle = new LongThrottle();
  throttle.see([throttled(1_000)], 0);
  throttle.see([throttled(1_000), ACCEPTED], 50_000);
  throttle.see([throttled(1_000)], 55_000);
  expect([throttle.isLong(100_000), throttle.isLong(115_001)]).toEqual([false, true]);
});

test('a Retry-After of more than a minute counts at once, and keeps the account silent until then', () => {
  const throttle = new LongThrottle();
  throttle.see([throttled(120_000)], 1_000);
  expect([throttle.isLong(1_000), throttle.untilMs]).toEqual([true, 121_000]);
});

test('what left before the carrier named a long time does not end it, and what left afterwards does', () => {
  const throttle = new LongThrottle();
  throttle.see([throttled(120_000)], 1_000, 900);
  throttle.see([ACCEPTED], 1_100, 950);
  expect([throttle.isLong(1_100), throttle.untilMs]).toEqual([true, 121_000]);
  throttle.see([ACCEPTED], 2_000, 1_500);
  expect([throttle.isLong(2_000), throttle.untilMs]).toEqual([false, 0]);
});

test('what is about one sender or message says nothing of the account', () => {
  const throttle = new LongThrottle();
  throttle.see([throttled(120_000, 'sender'), throttled(120_000, 'message')], 0);
  expect(throttle.isLong(600_000)).toBe(false);
});
