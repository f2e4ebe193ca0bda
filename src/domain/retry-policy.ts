/** How often, and after how long, what failed for the moment is tried again (api.md 7, `retry`). */
export interface RetryPolicy {
  /** Tries in all, the first included. */
  maxAttempts: number;
  initialDelaySeconds: number;
  /** Each delay is so many times the one before. */
  backoff: number;
  maxDelaySeconds: number;
}

/** Half an hour of outage, which is longer than a restart and shorter than a message's interest. */
export const RETRY_DEFAULT: RetryPolicy = {
  maxAttempts: 10,
  initialDelaySeconds: 5,
  backoff: 2,
  maxDelaySeconds: 600,
};

/** Of a delay, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * Seconds until the next try after `attempts` have failed; `undefined` when there is none left. The same
 * seed gives the same answer, so that whoever takes over after a crash waits for the same moment.
 */
export function nextAttempt(policy: RetryPolicy, attempts: number, seed: string): number | undefined {
  if (attempts >= policy.maxAttempts) return undefined;
  const grown = policy.initialDelaySeconds * policy.backoff ** Math.max(0, attempts - 1);
  const delay = Math.min(grown, policy.maxDelaySeconds);
  return delay * (1 - JITTER * fraction(`${seed}.${attempts}`));
}

/** From 0 to 1, the same for the same text (FNV-1a). */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 0x1_0000_0000;
}
