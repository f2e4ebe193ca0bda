import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 16;
/** Asked for many ids at a time: a call for sixteen bytes costs more than all the rest of making an id. */
const pool = Buffer.alloc(256 * RANDOM_BYTES);
let poolAt = pool.length;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new id such as `cmp_01kb3…`: a prefix that says what it names, then 26 characters of Crockford's
 * base 32, ten of milliseconds and sixteen random (one of each byte given). URL-safe, and sorts by
 * creation to the millisecond.
 */
export function newId(prefix: string, nowMs: number = Date.now(), bytes: Uint8Array = nextRandom()): string {
  let random = '';
  for (const byte of bytes) random += ALPHABET[byte & 31];
  return `${prefix}_${timePart(nowMs)}${random}`;
}

/** What ids sort after that were made at this time or later, and ids before that were made earlier. */
export function firstIdAt(prefix: string, ms: number): string {
  return `${prefix}_${timePart(Math.max(0, ms))}`;
}

function timePart(ms: number): string {
  let time = '';
  for (let rest = ms, i = 0; i < 10; i++) {
    time = ALPHABET[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  return time;
}

function nextRandom(): Uint8Array {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += RANDOM_BYTES;
  return pool.subarray(poolAt - RANDOM_BYTES, poolAt);
}
