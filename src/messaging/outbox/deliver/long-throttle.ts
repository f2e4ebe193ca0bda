import { LIMITS } from '../../../domain/limits';
import type { HandOverResult } from '../../../providers/provider';

/** A Retry-After beyond this is looked at again all the same. */
const RETRY_AFTER_MAX_MS = 3_600_000;

/** Tells an account that only throttles, and has for long, from one that is busy for a moment. */
export class LongThrottle {
  /** Nothing leaves before: the carrier named a time that is itself too long. */
  untilMs = 0;
  private sinceMs: number | undefined;

  see(results: readonly HandOverResult[], nowMs: number): void {
    if (results.some(({ kind }) => kind === 'accepted' || kind === 'rejected')) {
      this.sinceMs = undefined;
      this.untilMs = 0;
      return;
    }
    for (const result of results) {
      // What is about one message or sender says nothing of the account.
      if (result.kind !== 'throttled' || result.scope !== undefined) continue;
      this.sinceMs ??= nowMs;
      if (result.retryAfterMs > LIMITS.failoverThrottledMs) {
        this.untilMs = nowMs + Math.min(result.retryAfterMs, RETRY_AFTER_MAX_MS);
        this.sinceMs = Math.min(this.sinceMs, nowMs - LIMITS.failoverThrottledMs - 1);
      }
    }
  }

  isLong(nowMs: number): boolean {
    return this.sinceMs !== undefined && nowMs - this.sinceMs > LIMITS.failoverThrottledMs;
  }
}
