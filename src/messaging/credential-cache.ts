import { LIMITS } from '../domain/limits';
import { BoundedCache } from './bounded-cache';
import { hashSecret } from './secrets';

/**
 * Remembers for a few seconds whom a credential belongs to, so that the hot path asks the database
 * seldom and a revoked credential stops soon on every process. Only good credentials are remembered,
 * under their hash. Requests that arrive together with one credential share one question.
 */
export interface CredentialCache<Holder> {
  find(secret: string): Promise<Holder | undefined>;
  /** To be called when this process ends a credential, which then stops at once. */
  forget(secret: string): void;
}

export function createCredentialCache<Holder>(options: {
  load(hash: string): Promise<Holder | undefined>;
  now: () => number;
}): CredentialCache<Holder> {
  const { load, now } = options;
  const known = new BoundedCache<{ holder: Holder; readAt: number }>(LIMITS.authCacheEntries);
  const loading = new Map<string, Promise<Holder | undefined>>();

  return {
    find(secret) {
      const hash = hashSecret(secret);
      const entry = known.get(hash);
      if (entry && now() - entry.readAt < LIMITS.authCacheSeconds * 1_000)
        return Promise.resolve(entry.holder);
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
    },
    forget(secret) {
      const hash = hashSecret(secret);
      known.delete(hash);
      loading.delete(hash);
    },
  };
}
