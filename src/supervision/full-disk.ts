import { statfs } from 'node:fs/promises';
import { StartupError } from '../startup-error';

/** A server found no room on the disk. Starting it again helps as soon as there is room, which people make. */
export class NoRoomError extends StartupError {
  constructor(message: string, dataDir: string, options: { cause?: unknown } = {}) {
    super(
      message,
      `Make room on the disk of ${dataDir} and start again; what was committed is there.`,
      options,
    );
  }
}

/**
 * As the system, PostgreSQL and SQLite name it. PostgreSQL reports some of it as a short write only; dash, which writes
 * the file of the process ids, calls every failed write an I/O error.
 */
const WORDS =
  /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes|disk is full|echo: I\/O error/i;
/** A server that found no room may name what it could not do, and not why; SQLite's shared file even ends it. */
const FREE_BYTES_MIN = 2 ** 20;

/** Whether the last words of a server that ended, or the disk itself, say that it is full. */
export async function isFullDisk(dataDir: string, words: string): Promise<boolean> {
  if (WORDS.test(words)) return true;
  const disk = await statfs(dataDir).catch(() => undefined);
  return disk !== undefined && disk.bavail * disk.bsize < FREE_BYTES_MIN;
}

/** A file of ours could not be written. */
export function isNoRoom(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
