import type { Channel } from './channel';

/**
 * How fast one sender may send. Carriers allow a registered number or domain a certain rate, and filter a
 * sender who exceeds it. A missing member means no limit.
 */
export interface SenderLimit {
  /** Per second: emails, calls or, for SMS, segments, which is what carriers count. */
  rate?: number | undefined;
  /**
   * Tokens that the bucket holds, and so how many messages may leave at once after a silence. By default one
   * second's worth.
   */
  burst?: number | undefined;
  /** Concurrent calls; voice only. */
  concurrentCalls?: number | undefined;
}

export type SenderLimits = Partial<Record<Channel, SenderLimit>>;

/** At least one token, because a smaller bucket would never let a message through. */
export function burstOf({ rate, burst }: SenderLimit): number {
  return Math.max(1, burst ?? Math.ceil(rate ?? 1));
}
