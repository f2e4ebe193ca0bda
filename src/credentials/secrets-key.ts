import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '../startup-error';

const KEY_BYTES = 32;

export const secretsKeyFile = (dataDir: string): string => join(dataDir, 'secrets.key');

/**
 * The key of the data directory, by which secrets are sealed where FANFARE_SECRETS_KEY is not set. The first process
 * makes it, so that a copy of the database alone opens nothing. `undefined` where there is none and none can be written.
 */
export async function dataDirectoryKey(
  dataDir: string,
  { make }: { make: boolean },
): Promise<Buffer | undefined> {
  const file = secretsKeyFile(dataDir);
  const known = await readKey(file);
  if (known || !make) return known;
  // Linked in place when it is whole: of two processes that start together one makes the key, and a crash leaves none.
  const fresh = `${file}.${process.pid}.new`;
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const handle = await open(fresh, 'w', 0o600);
    try {
      await handle.writeFile(`${randomBytes(KEY_BYTES).toString('base64')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(fresh, file);
  } catch (error) {
    if (!['EEXIST', 'EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
  } finally {
    await rm(fresh, { force: true }).catch(() => undefined);
  }
  return readKey(file);
}

async function readKey(file: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new StartupError(`${file} cannot be read: ${code}`, 'Give this user read access to it.');
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new StartupError(
    `${file} is damaged: it does not hold a key`,
    'Restore the file from its copy. Without one, move it away; docs/operating.md (Secrets in the database) tells what to do when a key is lost.',
  );
}
