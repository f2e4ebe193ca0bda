/**
 * When a recipient is tried again (api.md 7, `delivery.retry`). `maxAttempts` counts every try, including the
 * first. The delay between two tries grows by `backoff`, up to `maxDelaySeconds`.
 */
export interface RetryPolicy {
  maxAttempts: number;
  initialDelaySeconds: number;
  backoff: number;
  maxDelaySeconds: number;
}

/**
 * Delays of 10 s, 30 s, 90 s, 4 and 13 minutes, twenty minutes in all. That is longer than the restart or
 * failover of a carrier that refused one message while it took others, and no recipient stays open for hours.
 */
export const RETRY_DEFAULT: RetryPolicy = {
  maxAttempts: 6,
  initialDelaySeconds: 10,
  backoff: 3,
  maxDelaySeconds: 900,
};

/**
 * A campaign's retry options, completed. If its first delay is longer than the usual longest one, it is also
 * the longest.
 */
export function retryPolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const initialDelaySeconds = given.initialDelaySeconds ?? RETRY_DEFAULT.initialDelaySeconds;
  return {
    maxAttempts: given.maxAttempts ?? RETRY_DEFAULT.maxAttempts,
    initialDelaySeconds,
    backoff: given.backoff ?? RETRY_DEFAULT.backoff,
    maxDelaySeconds: given.maxDelaySeconds ?? Math.max(RETRY_DEFAULT.maxDelaySeconds, initialDelaySeconds),
  };
}

/**
 * Seconds until the next attempt after `attempts` of them, or undefined when none is left. The delay is spread
 * over a fifth, so that recipients who failed together are not retried together. The same `seed` gives the same
 * delay, so that a repeated decision is the same. It stays within the policy's first and longest delay.
 */
export function nextAttempt(policy: RetryPolicy, attempts: number, seed: string): number | undefined {
  if (attempts >= policy.maxAttempts) return undefined;
  const { initialDelaySeconds: initial, maxDelaySeconds: max } = policy;
  const grown = Math.min(initial * policy.backoff ** Math.max(0, attempts - 1), max);
  const latest = Math.min(grown * SPREAD, max);
  const earliest = Math.max(Math.min(initial, max), latest / SPREAD);
  return Math.min(max, earliest + (latest - earliest) * fraction(`${seed}#${attempts}`));
}

const SPREAD = 1.2;

/** FNV-1a with a final mix, as a number in [0, 1). The mix is needed because uids differ in few characters. */
export function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
