import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { StartupError } from '../startup-error';

/**
 * Retries for a while what is temporarily out of reach, because parts that are started together come up in any
 * order, and a server may be restarting too. Any other error fails at once.
 */
export async function withStartupRetry<T>(
  open: () => Promise<T>,
  { log, signal }: { log: Log; signal: AbortSignal },
  patienceMs: number = LIMITS.startupPatienceMs,
): Promise<T> {
  const until = Date.now() + patienceMs;
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StartupError) || !error.mayPass || Date.now() >= until) throw error;
      if (tries === 1) log.warn(`${error.message}; trying again for ${patienceMs / 1000} s`);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

const RETRY_MS = 500;
