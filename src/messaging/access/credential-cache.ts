import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import type { MaybePromise } from '../../domain/maybe-promise';
import { hashSecret } from './secrets';

/**
 * Caches for a few seconds whom a credential belongs to. Frequent requests thus need no query, and a revoked
 * credential soon stops on every process. A credential in steady use is read again in the background before its
 * entry is too old. Only valid credentials are cached, under their hash. Concurrent requests with one
 * credential share one query.
 */
export interface CredentialCache<Holder> {
  /** At once when it is known, because every request asks and a promise costs more than the look. */
  find(secret: string): MaybePromise<Holder | undefined>;
  /** Call it when this process ends a credential, which then stops at once. */
  forget(secret: string): void;
  /** The same for credentials whose secret this process does not have. */
  forgetAll(): void;
}

export function createCredentialCache<Holder>(options: {
  load(hash: string): Promise<Holder | undefined>;
  now: () => number;
}): CredentialCache<Holder> {
  const { load, now } = options;
  const known = new BoundedCache<{ holder: Holder; readAt: number }>(LIMITS.authCacheEntries);
  const loading = new Map<string, Promise<Holder | undefined>>();

  function read(hash: string): Promise<Holder | undefined> {
    const running = loading.get(hash);
    if (running) return running;
    const readAt = now();
    const started = load(hash)
      .then((holder) => {
        // A credential that was forgotten during its read is not cached again.
        if (loading.get(hash) !== started) return holder;
        if (holder === undefined) known.delete(hash);
        else known.set(hash, { holder, readAt });
        return holder;
      })
      .finally(() => {
        if (loading.get(hash) === started) loading.delete(hash);
      });
    loading.set(hash, started);
    return started;
  }

  return {
    find(secret) {
      const hash = hashSecret(secret);
      const entry = known.get(hash);
      // What a clock that was set back makes younger than new counts as old; it would hold until the clock is there again.
      const ageMs = entry ? Math.abs(now() - entry.readAt) : Number.POSITIVE_INFINITY;
      if (!entry || ageMs >= LIMITS.authCacheSeconds * 1_000) return read(hash);
      // If the refresh fails, the entry grows old; then a request waits for the query and gets its error.
      if (ageMs >= LIMITS.authRefreshSeconds * 1_000) read(hash).catch(() => undefined);
      return entry.holder;
    },
    forget(secret) {
      const hash = hashSecret(secret);
      known.delete(hash);
      loading.delete(hash);
    },
    forgetAll() {
      known.clear();
      loading.clear();
    },
  };
}
