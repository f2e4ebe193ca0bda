import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';

/**
 * Counts events by key, in this process alone. It keeps one caller from taking up the others' time, and
 * protects no secret. It never throws, and drops the oldest keys when there are too many.
 */
export interface RateWindow {
  /** Seconds to wait, or 0 when this call may proceed. */
  take(key: string): number;
}

const WINDOW_MS = 60_000;

export function createRateWindow(perMinute: number): RateWindow {
  const counts = new BoundedCache<{ sinceMs: number; count: number }>(LIMITS.rateWindowKeys);

  return {
    take(key) {
      const nowMs = Date.now();
      const known = counts.get(key);
      if (!known || nowMs - known.sinceMs >= WINDOW_MS) {
        counts.set(key, { sinceMs: nowMs, count: 1 });
        return 0;
      }
      known.count += 1;
      return known.count > perMinute ? Math.ceil((known.sinceMs + WINDOW_MS - nowMs) / 1_000) : 0;
    },
  };
}
