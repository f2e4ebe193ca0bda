import { LIMITS } from '../limits';
import type { MachineBehaviour } from './answer-detection/machine-behaviour';

/** How one call is to be made, as its sender asks for it (api.md 4, 7); what is not there is CALL_DEFAULTS'. */
export interface CallOptions {
  /** What is done when a machine answers. */
  machine?: MachineBehaviour | undefined;
  /** How long it may ring. */
  ringTimeoutSeconds?: number | undefined;
  /** How long it may last once somebody has answered. */
  maxSeconds?: number | undefined;
}

export const CALL_DEFAULTS = {
  machine: 'speak',
  ringTimeoutSeconds: LIMITS.ringSecondsDefault,
  maxSeconds: LIMITS.callSecondsDefault,
} as const;
