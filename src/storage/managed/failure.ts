import { StartupError } from '../../startup-error';
import { isFullDisk, NoRoomError } from '../../supervision/full-disk';

const CAUSES: { words: RegExp; wayOut: (dataDir: string) => string }[] = [
  {
    words:
      /Permission denied|invalid permissions|has wrong ownership|Operation not permitted|Read-only file system/,
    wayOut: (dataDir) => `Give this user everything in ${dataDir}, or start as the user that it belongs to.`,
  },
  {
    words: /could not map anonymous shared memory|Cannot allocate memory|could not fork/,
    wayOut: () => 'Free some memory, or set DATABASE_URL to a server on another machine.',
  },
];

/** The error for a server or initdb that ended: its last lines, and the remedy that they point to. */
export async function failureOf(what: string, words: string, dataDir: string): Promise<StartupError> {
  const message = `The PostgreSQL server in ${dataDir} did not start: ${what}. Its last words:\n${words || '(none)'}`;
  if (await isFullDisk(dataDir, words)) return new NoRoomError(message, dataDir);
  const known = CAUSES.find((cause) => cause.words.test(words));
  return new StartupError(
    message,
    known?.wayOut(dataDir) ??
      'If the database is damaged, restore it from a backup, or move the whole data directory away to begin with an ' +
        'empty one. Or set DATABASE_URL to another server.',
  );
}
