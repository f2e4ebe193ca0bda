import { LIMITS } from '../../../domain/limits';
import type { HandOver, HandOverResult } from '../../../providers/provider';

export interface ThrottledSender {
  sender: string;
  delayMs: number;
  /** The provider said that it is about no other message. */
  isAlone: boolean;
}

/**
 * Senders that the provider asked to be silent, and for how long: those of whose messages it sent most
 * away, since a few may be about their recipients.
 */
export function throttledSenders(
  messages: readonly HandOver[],
  results: readonly HandOverResult[],
): ThrottledSender[] {
  if (!results.some((result) => result.kind === 'throttled')) return [];
  const senders = new Map<string, { given: number; away: number; delayMs: number; isAlone: boolean }>();
  messages.forEach(({ from }, i) => {
    const sender = senders.get(from) ?? { given: 0, away: 0, delayMs: 0, isAlone: true };
    senders.set(from, sender);
    sender.given += 1;
    const result = results[i];
    if (result?.kind !== 'throttled' || result.scope === 'message') return;
    sender.away += 1;
    if (result.scope !== 'sender') sender.isAlone = false;
    sender.delayMs = Math.max(sender.delayMs, Math.min(result.retryAfterMs, LIMITS.senderSilenceMs));
  });
  return [...senders].flatMap(([sender, { given, away, delayMs, isAlone }]) =>
    away * 2 > given ? [{ sender, delayMs, isAlone }] : [],
  );
}

/** A Retry-After beyond this is looked at again all the same. */
const RETRY_AFTER_MAX_MS = 3_600_000;

/** Tells an account that only throttles, and has for long, from one that is busy for a moment. */
export class LongThrottle {
  /** Nothing leaves before: the carrier named a time that is itself too long. */
  untilMs = 0;
  private sinceMs: number | undefined;
  /** When it named that time. */
  private namedAtMs = 0;

  /** `startedAtMs`: when these messages left. One that left before the carrier named its time tells nothing new. */
  see(results: readonly HandOverResult[], nowMs: number, startedAtMs: number = nowMs): void {
    const isLate = nowMs < this.untilMs && startedAtMs <= this.namedAtMs;
    if (!isLate && results.some(({ kind }) => kind === 'accepted' || kind === 'rejected')) {
      this.sinceMs = undefined;
      this.untilMs = 0;
      return;
    }
    for (const result of results) {
      // A throttling of one message or sender says nothing about the account.
      if (result.kind !== 'throttled' || result.scope !== undefined) continue;
      this.sinceMs ??= nowMs;
      if (result.retryAfterMs > LIMITS.failoverThrottledMs) {
        this.namedAtMs = nowMs;
        this.untilMs = nowMs + Math.min(result.retryAfterMs, RETRY_AFTER_MAX_MS);
        this.sinceMs = Math.min(this.sinceMs, nowMs - LIMITS.failoverThrottledMs - 1);
      }
    }
  }

  isLong(nowMs: number): boolean {
    return this.sinceMs !== undefined && nowMs - this.sinceMs > LIMITS.failoverThrottledMs;
  }
}
