import { statfs } from 'node:fs/promises';

/** As the system, PostgreSQL and SQLite name it. PostgreSQL reports some of it as a short write only. */
const WORDS =
  /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes|disk is full/i;
/** A server that found no room may name what it could not do, and not why; SQLite's shared file even ends it. */
const FREE_BYTES_MIN = 2 ** 20;

/** What to do, if words that a failed start left behind, or the disk itself, say that it is full. */
export async function wayOutOfFullDisk(dataDir: string, words: string): Promise<string | undefined> {
  if (!WORDS.test(words) && !(await isFull(dataDir))) return undefined;
  return `Make room on the disk of ${dataDir} and start again; what was committed is there.`;
}

async function isFull(dataDir: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dataDir).catch(() => ({
    bavail: Number.POSITIVE_INFINITY,
    bsize: 1,
  }));
  return bavail * bsize < FREE_BYTES_MIN;
}

/** A file of ours could not be written. */
export function isNoRoom(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
