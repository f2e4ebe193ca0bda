import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * Passwords, as `scrypt$<log2 N>$<r>$<p>$<salt>$<hash>`: the cost stands in each hash, so it can be raised
 * for new ones while old ones still verify.
 */

/** 32 MiB and about a fifth of a second: OWASP's figure for this N. */
const COST = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, COST);
  return ['scrypt', COST.log2N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join(
    '$',
  );
}

/** With no stored hash it takes as long and says no, so that time does not tell which users exist. */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, log2N, r, p, salt, expected] = (stored ?? NOBODY).split('$');
  const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  const hash = await derive(password, Buffer.from(salt ?? '', 'base64url'), cost);
  const matches = timingSafeEqual(hash, Buffer.from(expected ?? '', 'base64url'));
  return matches && stored !== undefined;
}

/** A generated password: 144 bits. */
export const newPassword = (): string => randomBytes(18).toString('base64url');

const NOBODY = `scrypt$${COST.log2N}$${COST.r}$${COST.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  const N = 2 ** cost.log2N;
  // Node's bound of 32 MiB is a little less than what this N needs.
  const options: ScryptOptions = { N, r: cost.r, p: cost.p, maxmem: 256 * N * cost.r };
  return new Promise((done, fail) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) =>
      error ? fail(error) : done(key),
    );
  });
}
