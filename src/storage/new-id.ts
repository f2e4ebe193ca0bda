import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 16;
/** Random bytes for many ids at once, because a call for sixteen bytes costs more than all the rest of an id. */
const pool = Buffer.alloc(256 * RANDOM_BYTES);
let poolAt = pool.length;

/** A million ids in a millisecond; after that only their order is lost. */
const COUNT_CHARS = 4;

const TIME_CHARS = 10;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new id such as `cmp_01kb3…`: a prefix that says what it names, then 26 characters of Crockford's base 32.
 * Ten of them are milliseconds and sixteen are random (one of each byte given). It is URL-safe, and sorts by
 * creation time to the millisecond.
 */
export function newId(prefix: string, nowMs: number = Date.now(), bytes: Uint8Array = nextRandom()): string {
  let random = '';
  for (const byte of bytes) random += ALPHABET[byte & 31];
  return `${prefix}_${timePart(nowMs)}${random}`;
}

let lastMs = 0;
let countInMs = 0;

/**
 * The same, for tables that grow by thousands of rows a second. Four of the sixteen characters count the ids of a
 * millisecond, so that those of one process sort in the order in which they were made: indexes are then written at their
 * end, and their pages are full instead of two thirds full.
 */
export function newIdInOrder(prefix: string, nowMs: number = Date.now()): string {
  countInMs = nowMs === lastMs ? countInMs + 1 : 0;
  lastMs = nowMs;
  const bytes = nextRandom();
  for (let i = 0, rest = countInMs; i < COUNT_CHARS; i++, rest >>= 5) bytes[COUNT_CHARS - 1 - i] = rest & 31;
  return newId(prefix, nowMs, bytes);
}

/** The time at which an id was made, in milliseconds. */
export function timeOfId(id: string): number {
  let ms = 0;
  for (const char of id.slice(id.indexOf('_') + 1).slice(0, TIME_CHARS))
    ms = ms * 32 + ALPHABET.indexOf(char);
  return ms;
}

function timePart(ms: number): string {
  let time = '';
  for (let rest = ms, i = 0; i < TIME_CHARS; i++) {
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
