import { setTimeout as delay } from 'node:timers/promises';

/** Waits for work that goes on by itself, but no longer than this. It must not reject later, because no caller would see it. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const waiting = new AbortController();
  const limit = delay(ms, undefined, { signal: waiting.signal }).catch(() => {});
  await Promise.race([work, limit]).finally(() => waiting.abort());
}
