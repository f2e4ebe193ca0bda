/** Runs at most `atOnce` pieces of work at the same time. Waiting ones run in the order in which they came. */
export function createTurns(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < atOnce) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // A place that is passed on to the next one stays counted.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
