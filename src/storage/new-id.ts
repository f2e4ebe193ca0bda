import { randomFillSync } from 'node:crypto';

/** 45 random bits for each millisecond: an import of a million contacts has the same id twice once in 70,000 times. */
const RANDOM_CHARS = 9;
const FORMER_RANDOM_CHARS = 16;
/** Random bytes for many ids at once, because a call for nine bytes costs more than all the rest of an id. */
const pool = Buffer.alloc(4_096);
let poolAt = pool.length;

/**
 * A thousand ids in a millisecond; after that only their order is lost. The 35 random bits behind are the same in the ids that two
 * processes make in one millisecond with one count once in 34 thousand million messages.
 */
const COUNT_CHARS = 2;

const TIME_CHARS = 10;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * What processes of builds from before decision 56 look for in the uids of messages. They read the feed of outcomes too, and pass
 * over those of messages whose uid has a shorter id.
 */
const READ_BY_FORMER_BUILDS = ['run', 'snd'];
let formerBuildsLive = false;

/** While a process of such a build lives, runs and durable sends have ids that it knows. */
export function makeIdsForFormerBuilds(live: boolean): void {
  formerBuildsLive = live;
}

const randomChars = (prefix: string) =>
  formerBuildsLive && READ_BY_FORMER_BUILDS.includes(prefix) ? FORMER_RANDOM_CHARS : RANDOM_CHARS;

/**
 * A new id such as `cmp_01kb3…`: a prefix that says what it names, then 19 characters of Crockford's base 32.
 * Ten of them are milliseconds and nine are random (one of each byte given). It is URL-safe, and sorts by
 * creation time to the millisecond. It is short, because each message has five of this kind. Those from before
 * decision 56, those made of a seed, and runs and durable sends beside a build from before it have 26 characters.
 */
export function newId(
  prefix: string,
  nowMs: number = Date.now(),
  bytes: Uint8Array = nextRandom(randomChars(prefix)),
): string {
  let random = '';
  for (const byte of bytes) random += ALPHABET[byte & 31];
  return `${prefix}_${timePart(nowMs)}${random}`;
}

let lastMs = 0;
let countInMs = 0;

/**
 * The same for tables that grow by thousands of rows a second. Two of its random characters count the ids of a
 * millisecond, so that those of one process sort in the order in which they were made: indexes are then written at their
 * end, and their pages are full instead of two thirds full.
 */
export function newIdInOrder(prefix: string, nowMs: number = Date.now()): string {
  countInMs = nowMs === lastMs ? countInMs + 1 : 0;
  lastMs = nowMs;
  const bytes = nextRandom(RANDOM_CHARS);
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

function nextRandom(bytes: number): Uint8Array {
  if (poolAt + bytes > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += bytes;
  return pool.subarray(poolAt - bytes, poolAt);
}
