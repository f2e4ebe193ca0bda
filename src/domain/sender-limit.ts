import type { Channel } from './channel';

/**
 * How fast one sender may be used: a registered number or domain is allowed so much by its carriers, and
 * whoever goes over it is filtered. What is left out is not limited.
 */
export interface SenderLimit {
  /** A second: emails, calls, or for SMS segments, which is what carriers count. */
  rate?: number | undefined;
  /** Tokens the bucket holds, and so how many may leave at once after a silence. One second's worth if left out. */
  burst?: number | undefined;
  /** Calls under way at the same time; voice only. */
  concurrentCalls?: number | undefined;
}

export type SenderLimits = Partial<Record<Channel, SenderLimit>>;

/** A bucket of less than one token would never let anything through. */
export function burstOf({ rate, burst }: SenderLimit): number {
  return Math.max(1, burst ?? Math.ceil(rate ?? 1));
}
