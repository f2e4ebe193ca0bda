import { LIMITS } from '../limits';
import type { MachineBehaviour } from './answer-detection/machine-behaviour';

/** Options for one call, as its sender asks for it (api.md 4, 7). Missing ones are those of CALL_DEFAULTS. */
export interface CallOptions {
  /** What to do when a machine answers. */
  machine?: MachineBehaviour | undefined;
  /** How long it may ring. */
  ringTimeoutSeconds?: number | undefined;
  /** How long the call may last after it was answered. */
  maxSeconds?: number | undefined;
}

export const CALL_DEFAULTS = {
  machine: 'speak',
  ringTimeoutSeconds: LIMITS.ringSecondsDefault,
  maxSeconds: LIMITS.callSecondsDefault,
} as const;
