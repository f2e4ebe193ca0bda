import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import { hashSecret } from './secrets';

/**
 * Remembers for a few seconds whom a credential belongs to, so that the hot path does not ask the database
 * and a revoked credential stops soon on every process. One in steady use is read again in the background
 * before it gets too old to be relied on. Only good credentials are remembered, under their hash. Requests
 * that arrive together with one credential share one question.
 */
export interface CredentialCache<Holder> {
  find(secret: string): Promise<Holder | undefined>;
  /** To be called when this process ends a credential, which then stops at once. */
  forget(secret: string): void;
  /** The same for credentials of which this process does not hold the secret. */
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
        // A credential forgotten while it was being read is not remembered again.
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
      const ageMs = entry ? now() - entry.readAt : Number.POSITIVE_INFINITY;
      if (!entry || ageMs >= LIMITS.authCacheSeconds * 1_000) return read(hash);
      // Failing, it leaves the entry to grow old; then somebody waits for the answer and is told.
      if (ageMs >= LIMITS.authRefreshSeconds * 1_000) read(hash).catch(() => undefined);
      return Promise.resolve(entry.holder);
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
