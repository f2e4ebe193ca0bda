import { hkdfSync, randomBytes } from 'node:crypto';
import { newId } from '../../storage/new-id';
import { newSecret } from './secrets';

/**
 * Source of the ids and secrets of what a call creates. Code that creates anything takes all of them from here.
 * A call repeated after a crash then generates the same ones, and finds what its first attempt has created
 * (idempotency.ts).
 */
export interface IdGenerator {
  id(prefix: string): string;
  /** 256 bits behind a prefix. */
  secret(prefix: string): string;
  /** 144 bits. */
  password(): string;
}

const PASSWORD_BYTES = 18;

export const RANDOM: IdGenerator = {
  id: (prefix) => newId(prefix),
  secret: (prefix) => newSecret(prefix),
  password: () => randomBytes(PASSWORD_BYTES).toString('base64url'),
};

/** Generates the same values for the same seed and time, if asked in the same order. */
export function seededIds(seed: Buffer, atMs: number): IdGenerator {
  const asked = new Map<string, number>();
  const next = (what: string, bytes: number): Buffer => {
    const times = asked.get(what) ?? 0;
    asked.set(what, times + 1);
    return Buffer.from(hkdfSync('sha256', seed, '', `${what} ${times}`, bytes));
  };
  return {
    id: (prefix) => newId(prefix, atMs, next(`id ${prefix}`, 16)),
    secret: (prefix) => newSecret(prefix, next(`secret ${prefix}`, 32)),
    password: () => next('password', PASSWORD_BYTES).toString('base64url'),
  };
}
