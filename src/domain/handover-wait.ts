import { LIMITS } from './limits';

/** How long a message waits after its nth try that a carrier could not take for the moment, in milliseconds. */
export const handoverWaitMs = (attempt: number): number =>
  Math.min(LIMITS.handoverBackoffMs * 2 ** (attempt - 1), LIMITS.handoverBackoffMaxMs);
