import { LIMITS } from './limits';

/** Values in seconds that an installation sets instead of LIMITS. */
export interface CallTimes {
  /** Delay before a call that its carrier could not place is asked for again. */
  faultSeconds?: number | undefined;
  /** How long a call may be silent, besides its ringing, before its end counts as unknown. */
  silenceSeconds?: number | undefined;
}

/** How long a call may stay without events after its hand-over before its end counts as unknown. */
export function silenceOf(times: CallTimes, ringSeconds: number = LIMITS.ringSecondsDefault): number {
  return ringSeconds + (times.silenceSeconds ?? LIMITS.callLeaseSeconds + LIMITS.callGraceSeconds);
}
