import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Secrets that we generate: 256 random bits behind a prefix that says what they are. Because they cannot be
 * guessed, a plain hash protects them in the database, and looking one up by its hash reveals nothing.
 */
export function newSecret(prefix: string, bytes: Buffer = randomBytes(32)): string {
  return `${prefix}_${bytes.toString('base64url')}`;
}

export const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url');

/** Compares in constant time. Without a stored hash it returns false, after the same work. */
export function matchesHash(secret: string, stored: string | undefined): boolean {
  const given = Buffer.from(hashSecret(secret));
  const expected = Buffer.from(stored ?? hashSecret(''));
  return given.length === expected.length && timingSafeEqual(given, expected) && stored !== undefined;
}
