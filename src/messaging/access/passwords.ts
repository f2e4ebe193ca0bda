import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * Password hashes as `scrypt$<log2 N>$<r>$<p>$<salt>$<hash>`. The cost is part of each hash, so that it can be
 * raised for new ones while old ones still verify.
 */
export interface PasswordCost {
  log2N: number;
  r: number;
  p: number;
}

/** 32 MiB and about a quarter of a second: OWASP's figures for this N. */
export const PASSWORD_COST: PasswordCost = { log2N: 15, r: 8, p: 3 };
const HASH_BYTES = 32;

export async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(16);
  return encode(cost, salt, await derive(password, salt, cost));
}

/** Without a stored hash it takes as long and returns false, so that the time does not reveal which users exist. */
export async function verifyPassword(
  password: string,
  stored: string | undefined,
  cost: PasswordCost,
): Promise<boolean> {
  const nobody = encode(cost, Buffer.alloc(16), Buffer.alloc(HASH_BYTES));
  const [, log2N, r, p, salt, expected] = (stored ?? nobody).split('$');
  const usedCost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  const hash = await derive(password, Buffer.from(salt ?? '', 'base64url'), usedCost);
  const matches = timingSafeEqual(hash, Buffer.from(expected ?? '', 'base64url'));
  return matches && stored !== undefined;
}

function encode({ log2N, r, p }: PasswordCost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', log2N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

function derive(password: string, salt: Buffer, { log2N, r, p }: PasswordCost): Promise<Buffer> {
  const N = 2 ** log2N;
  // Node's default limit of 32 MiB is slightly less than this N needs.
  const options = { N, r, p, maxmem: 256 * N * r };
  return new Promise((done, fail) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) =>
      error ? fail(error) : done(key),
    );
  });
}
