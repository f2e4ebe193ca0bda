import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../domain/limits';

/** Rows that nobody needs any more, cleared away from time to time for as long as the process lives. */
export interface PeriodicCleanup {
  /** Everything that is too old by now; joins a sweep that is under way. */
  sweep(): Promise<void>;
  stop(): void;
}

/** Deletes some rows, oldest first, and tells how many: none when there are no more. */
export type CleanupStep = () => Promise<number>;

/** `steps` are asked for with each sweep, in their order, and each is repeated until it finds nothing. */
export function startPeriodicCleanup({
  steps,
  onFailed,
}: {
  steps: () => Promise<CleanupStep[]> | CleanupStep[];
  onFailed: (error: unknown) => void;
}): PeriodicCleanup {
  let stopped = false;
  let sweeping: Promise<void> | undefined;

  /** Rests between two steps, because requests use the same database. */
  async function sweepAll(): Promise<void> {
    for (const step of await steps()) {
      while (!stopped && (await step()) > 0) await delay(LIMITS.retentionPauseMs, undefined, { ref: false });
    }
  }

  function sweep(): Promise<void> {
    sweeping ??= sweepAll().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  const timer = setInterval(() => sweep().catch(onFailed), LIMITS.retentionSweepSeconds * 1_000);
  timer.unref();

  return {
    sweep,
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}
