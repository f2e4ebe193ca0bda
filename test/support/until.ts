import { setTimeout as delay } from 'node:timers/promises';

/** The first look comes soon and each later one a quarter later, because a look that asks a server costs it time. */
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 100;
const GROWTH = 1.25;
/** Far beyond what a condition takes, also on a machine that does much else. */
const LIMIT_MS = 45_000;

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Waits for a condition and answers what it gave; fails with `what` if it does not come about in time.
 * `pollMs` is for a condition that must be looked at at an even pace, in milliseconds.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMs = LIMIT_MS,
  pollMs?: number,
): Promise<Truthy<T>> {
  for (let [limit, next] = [Date.now() + limitMs, pollMs ?? FIRST_POLL_MS]; ; ) {
    const answer = await condition();
    if (answer) return answer as Truthy<T>;
    if (Date.now() > limit) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await delay(next);
    next = pollMs ?? Math.min(LAST_POLL_MS, next * GROWTH);
  }
}
