/**
 * Tests whose bodies all begin when `ready` has run, because nearly all of their time is waiting; each waits for its own
 * to end. They share an installation, so that none of them may change what another relies on.
 */
export function testsAtOnce(
  ready: () => Promise<void>,
  limitMs: number,
  bodies: Record<string, () => Promise<void>>,
): void {
  const running = new Map<string, Promise<void>>();
  beforeAll(async () => {
    await ready();
    for (const [title, body] of Object.entries(bodies)) {
      const ended = body();
      // It is heard of when its test comes.
      ended.catch(() => undefined);
      running.set(title, ended);
    }
  }, limitMs);
  for (const title of Object.keys(bodies)) test(title, () => running.get(title) as Promise<void>, limitMs);
}
