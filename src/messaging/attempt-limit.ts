import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { BoundedCache } from './bounded-cache';

/**
 * Counts failed log-ins per user and per address. An attempt counts from its beginning, since checking a
 * password takes long enough for many to run side by side; one that succeeds is taken back.
 */
export interface AttemptLimit {
  /** Throws `too_many_attempts` when any of the keys has used its attempts up. Answers how to take it back. */
  begin(keys: string[]): { succeeded(): void };
}

interface Failures {
  count: number;
  since: number;
}

const WINDOW_MS = LIMITS.loginFailureWindowMinutes * 60_000;

export function createAttemptLimit(now: () => number): AttemptLimit {
  const failures = new BoundedCache<Failures>(LIMITS.authCacheEntries);

  function current(key: string): Failures {
    const known = failures.get(key);
    if (known && now() - known.since < WINDOW_MS) return known;
    const fresh = { count: 0, since: now() };
    failures.set(key, fresh);
    return fresh;
  }

  return {
    begin(keys) {
      const counters = keys.map(current);
      const full = counters.filter(({ count }) => count >= LIMITS.loginFailuresMax);
      if (full.length > 0) {
        const waitMs = Math.max(...full.map(({ since }) => since + WINDOW_MS - now()));
        throw new DomainError('too_many_attempts', 'Too many failed attempts; wait and try again', {
          retryAfterSeconds: Math.ceil(waitMs / 1_000),
        });
      }
      for (const counter of counters) counter.count += 1;
      return {
        succeeded() {
          for (const counter of counters) counter.count -= 1;
        },
      };
    },
  };
}
