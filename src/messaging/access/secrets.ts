import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Secrets that we make ourselves: 256 random bits behind a prefix that says what they are. Nobody can
 * guess one, so a plain hash keeps them at rest, and looking one up by its hash leaks nothing.
 */
export function newSecret(prefix: string, bytes: Buffer = randomBytes(32)): string {
  return `${prefix}_${bytes.toString('base64url')}`;
}

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** In constant time. Without a stored hash it answers no, after the same work. */
export function matchesHash(secret: string, stored: string | undefined): boolean {
  const given = Buffer.from(hashSecret(secret));
  const expected = Buffer.from(stored ?? hashSecret(''));
  return given.length === expected.length && timingSafeEqual(given, expected) && stored !== undefined;
}
