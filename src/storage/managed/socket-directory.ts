import { createHash } from 'node:crypto';
import { chown, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { StartupError } from '../../startup-error';
import type { RunAs } from './run-as';
import { PORT } from './settings';

/** Bytes of `sun_path` without its last one: 107 on Linux, 103 on macOS. */
const SOCKET_PATH_BYTES_MAX = 103;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/**
 * The folder of the server's socket. It is beside the data or, where that path is too long for a socket, in the
 * user's runtime folder or the temporary one. Its name follows from the data directory, so that it is the same
 * after every start. Only its owner may enter it, so that being able to connect proves one's identity.
 */
export async function socketDirectory(
  beside: string,
  { env, runAs }: { env: Record<string, string | undefined>; runAs: RunAs },
): Promise<string> {
  if (fits(beside)) return beside;
  const name = `fanfare-${createHash('sha256').update(beside).digest('hex').slice(0, 16)}`;
  // The runtime folder of this user is closed to another.
  const runtime = runAs.uid === undefined ? env.XDG_RUNTIME_DIR : undefined;
  for (const base of [runtime, env.TMPDIR, tmpdir(), '/tmp']) {
    if (!base || !isAbsolute(base)) continue;
    const directory = join(base, name);
    if (fits(directory) && (await makePrivate(directory, runAs))) return directory;
  }
  throw new StartupError(
    `The path of the data directory is too long for the database's socket (${beside}), and no private folder can be made elsewhere`,
    'Set FANFARE_DATA_DIR to a directory with a shorter path, or TMPDIR to a folder that this user can write.',
  );
}

const fits = (directory: string) => Buffer.byteLength(join(directory, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX;

/** In a folder that other users can write too. An existing folder counts only if it is ours and closed to them. */
async function makePrivate(directory: string, { uid, gid }: RunAs): Promise<boolean> {
  const me = process.getuid?.();
  try {
    await mkdir(directory, { mode: 0o700 });
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  const found = await lstat(directory);
  return found.isDirectory() && found.uid === (uid ?? me) && (found.mode & 0o077) === 0;
}
