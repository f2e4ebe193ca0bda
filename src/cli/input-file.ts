import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { StartupError } from '../startup-error';

/** Refuses a file before anything is asked of the instance: while it is sent, it would look like a lost connection. */
export async function needReadable(file: string): Promise<void> {
  const wayOut = 'Name a file that this user may read.';
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`${file} cannot be read: ${error.code}`, wayOut, { cause: error });
  });
  if (found.isDirectory()) throw new StartupError(`${file} is a directory`, wayOut);
  await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`${file} cannot be read: ${error.code}`, wayOut, { cause: error });
  });
}
