import { DomainError } from '../domain/errors';

/** Runs so many tasks at a time, and keeps so many waiting; further ones are refused. */
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
      // Whoever finishes hands its place on, so that nobody comes between.
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
