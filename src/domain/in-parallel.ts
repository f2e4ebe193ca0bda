/** Runs `work` over all items, at most `atOnce` at a time, and returns the results in order. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result> | Result,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as Item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  return results;
}

/**
 * Runs at most `atOnce` pieces of work at the same time. Waiting ones run in the order in which they came; with a
 * `bound`, a further one is refused when `waitingMax` of them wait.
 */
export function createTurns(
  atOnce: number,
  bound?: { waitingMax: number; refusal: () => Error },
): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < atOnce) running += 1;
    else if (bound && waiting.length >= bound.waitingMax) throw bound.refusal();
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
