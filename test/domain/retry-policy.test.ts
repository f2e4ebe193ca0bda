/** Proves the delays between attempts. */

import fc from 'fast-check';
import { nextAttempt, RETRY_DEFAULT, type RetryPolicy, retryPolicy } from '../../src/domain/retry-policy';

const policies: fc.Arbitrary<RetryPolicy> = fc
  .record({
    maxAttempts: fc.integer({ min: 1, max: 100 }),
    initialDelaySeconds: fc.integer({ min: 0, max: 3_600 }),
    backoff: fc.double({ min: 1, max: 100, noNaN: true }),
    more: fc.integer({ min: 0, max: 3_600 }),
  })
  .map(({ more, ...policy }) => ({ ...policy, maxDelaySeconds: policy.initialDelaySeconds + more }));

describe('the delay before the next attempt', () => {
  test('grows by the factor up to the longest, spread over a fifth', () => {
    const policy = { maxAttempts: 6, initialDelaySeconds: 10, backoff: 3, maxDelaySeconds: 200 };
    const bounds = [10, 30, 90, 200 / 1.2, 200 / 1.2];
    for (const [i, least] of bounds.entries()) {
      const delay = nextAttempt(policy, i + 1, 'run.sms.4.0');
      expect(delay).toBeGreaterThanOrEqual(least - 1e-9);
      expect(delay).toBeLessThanOrEqual(Math.min(200, least * 1.2) + 1e-9);
    }
    expect(nextAttempt(policy, 6, 'run.sms.4.0')).toBeUndefined();
  });

  test('is the same for the same message, and differs between messages', () => {
    const policy = retryPolicy();
    const delays = Array.from({ length: 50 }, (_, seq) => nextAttempt(policy, 2, `run.sms.${seq}.0`));
    expect(delays).toEqual(
      Array.from({ length: 50 }, (_, seq) => nextAttempt(policy, 2, `run.sms.${seq}.0`)),
    );
    expect(new Set(delays).size).toBe(50);
  });

  test('is exact where the first delay is the longest', () => {
    const policy = { maxAttempts: 3, initialDelaySeconds: 7, backoff: 2, maxDelaySeconds: 7 };
    expect(nextAttempt(policy, 1, 'a')).toBe(7);
    expect(nextAttempt(policy, 2, 'b')).toBe(7);
  });

  test('never leaves the bounds of the policy, and ends with the last attempt', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 0, max: 120 }), fc.string(), (policy, attempts, seed) => {
        const delay = nextAttempt(policy, attempts, seed);
        if (attempts >= policy.maxAttempts) return delay === undefined;
        return delay !== undefined && delay >= policy.initialDelaySeconds && delay <= policy.maxDelaySeconds;
      }),
    );
  });

  test('does not shrink by more than its spread from one attempt to the next', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 98 }), fc.string(), (policy, attempts, seed) => {
        const [now, then] = [nextAttempt(policy, attempts, seed), nextAttempt(policy, attempts + 1, seed)];
        return now === undefined || then === undefined || then * 1.2 + 1e-6 >= now;
      }),
    );
  });
});

describe('a policy given in part', () => {
  test('is completed from the default', () => {
    expect(retryPolicy()).toEqual(RETRY_DEFAULT);
    expect(retryPolicy({ maxAttempts: 2 })).toEqual({ ...RETRY_DEFAULT, maxAttempts: 2 });
  });

  test('has no longest delay below its first', () => {
    expect(retryPolicy({ initialDelaySeconds: 5_000 })).toMatchObject({ maxDelaySeconds: 5_000 });
  });
});
