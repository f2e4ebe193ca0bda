import { DomainError } from '../domain/errors';

/** Runs a limited number of tasks at a time and lets a limited number wait; it refuses further ones. */
export function createWorkQueue({ concurrency, waitingMax }: { concurrency: number; waitingMax: number }) {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running < concurrency) running++;
    else {
      if (waiting.length >= waitingMax) {
        throw new DomainError('overloaded', `${waitingMax} texts are waiting to be spoken already`, {
          retryAfterSeconds: 1,
        });
      }
      // A finished task passes its place on directly, so that no later task gets in between.
      await new Promise<void>((go) => waiting.push(go));
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
