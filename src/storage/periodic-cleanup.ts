import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../domain/limits';

/** Deletes rows that are no longer needed, from time to time, as long as the process runs. */
export interface PeriodicCleanup {
  /** Deletes everything that is too old; joins a sweep that is running. */
  sweep(): Promise<void>;
  stop(): void;
}

/** Deletes some rows, oldest first, and returns how many: zero when none are left. */
export type CleanupStep = () => Promise<number>;

/** Each sweep asks for `steps`, and repeats each of them in order until it deletes nothing. Fails in the end with the first failure of a step. */
export function startPeriodicCleanup({
  steps,
  onFailed,
}: {
  steps: () => Promise<CleanupStep[]> | CleanupStep[];
  onFailed: (error: unknown) => void;
}): PeriodicCleanup {
  let stopped = false;
  let sweeping: Promise<void> | undefined;

  async function sweepAll(): Promise<void> {
    let failure: { error: unknown } | undefined;
    for (const step of await steps()) {
      try {
        while (!stopped && (await stepAndRest(step)) > 0);
      } catch (error) {
        // The others go on, because a step that fails in every sweep would keep their rows for ever.
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }

  function sweep(): Promise<void> {
    sweeping ??= sweepAll().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  // Soon after the start as well, because a process that is restarted often would never come to it.
  const first = setTimeout(() => sweep().catch(onFailed), LIMITS.retentionFirstSweepSeconds * 1_000);
  const timer = setInterval(() => sweep().catch(onFailed), LIMITS.retentionSweepSeconds * 1_000);
  first.unref();
  timer.unref();

  return {
    sweep,
    stop() {
      stopped = true;
      clearTimeout(first);
      clearInterval(timer);
    },
  };
}

/** Rests after a step that deleted something, because requests and campaigns use the same database. */
async function stepAndRest(step: CleanupStep): Promise<number> {
  const startedAt = performance.now();
  const deleted = await step();
  const tookMs = performance.now() - startedAt;
  const restMs = Math.max(LIMITS.retentionPauseMs, tookMs * LIMITS.retentionRestShare);
  if (deleted > 0) await delay(restMs, undefined, { ref: false });
  return deleted;
}
