import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;
/** Far beyond what a condition takes, also on a machine that does much else. */
const LIMIT_MS = 45_000;

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Waits for a condition and answers what it gave; fails with `what` if it does not come about in time.
 * A condition that reads a file or asks a server wants a longer `pollMs`.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = LIMIT_MS,
  pollMs = POLL_MS,
): Promise<Truthy<T>> {
  for (const limit = Date.now() + limitMs; ; ) {
    const answer = await condition();
    if (answer) return answer as Truthy<T>;
    if (Date.now() > limit) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await delay(pollMs);
  }
}
