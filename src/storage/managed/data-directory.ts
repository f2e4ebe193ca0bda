import { chown, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '../../startup-error';
import { startSupervised } from '../../supervision/supervised-process';
import { failureOf } from './failure';
import type { PostgresBinaries } from './find-binaries';
import type { RunAs } from './run-as';
import { SIGNALS } from './signals';

/** Path of the database within a data directory. */
export const dataOf = (dataDir: string) => join(dataDir, 'postgres');

/**
 * The major version that created the database; `undefined` where there is none yet. Fails when the folder is no
 * database.
 */
export async function madeBy(dataDir: string): Promise<number | undefined> {
  const data = dataOf(dataDir);
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch((error) => notThere(error, data));
  if (version !== undefined) {
    const major = Number(version.trim());
    if (Number.isInteger(major) && major > 0) return major;
    throw damaged(data, `its PG_VERSION holds ${JSON.stringify(version.slice(0, 20))}`);
  }
  if (await isThere(data)) throw damaged(data, 'it has no PG_VERSION');
  if (await isThere(join(dataDir, 'database', 'PG_VERSION'))) {
    throw new StartupError(
      `The data directory ${dataDir} holds a database of the earlier engine, PostgreSQL in WebAssembly, which no server can open`,
      'Move the directory away or set FANFARE_DATA_DIR to another one to begin anew; with the version of the program that made it, it can still be opened.',
    );
  }
  return undefined;
}

function notThere(error: NodeJS.ErrnoException, data: string): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw new StartupError(
    `The database in ${data} cannot be read: ${error.message}`,
    'Start as the user that it belongs to, or give it to this one.',
    { cause: error },
  );
}

function damaged(data: string, why: string): StartupError {
  return new StartupError(
    `${data} is not a PostgreSQL database: ${why}`,
    'Restore it from a backup, or move the whole data directory away to begin with an empty one.',
  );
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const UNFINISHED = 'postgres.unfinished';

/**
 * Creates an empty database. It is created under another name and renamed once it is complete and on disk, so
 * that a killed process leaves nothing that looks like a database.
 */
export async function makeData(options: {
  dataDir: string;
  binaries: PostgresBinaries;
  runAs: RunAs;
  pidFile: string;
  env: Record<string, string | undefined>;
}): Promise<void> {
  const { dataDir, binaries, runAs } = options;
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(UNFINISHED)) await rm(join(dataDir, name), { recursive: true, force: true });
  }
  const unfinished = join(dataDir, `${UNFINISHED}-${process.pid}-${Date.now()}`);
  await mkdir(unfinished, { mode: 0o700 });
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(unfinished, runAs.uid, runAs.gid);
  try {
    await initialise(unfinished, localeOptions(binaries.major), options).catch(async (error) => {
      // Before version 17 the locale comes from the system, and some systems have no C.UTF-8.
      if (!/invalid locale/.test((error as Error).message)) throw error;
      await initialise(unfinished, ['--locale=C'], options);
    });
    await writeFile(join(unfinished, 'pg_hba.conf'), ACCESS);
    await sync(join(unfinished, 'pg_hba.conf'));
    await rename(unfinished, dataOf(dataDir));
    await sync(dataDir);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Only its owner can enter the socket's folder, so that every client is known. `peer` would check the user's
 * name, which a server in a user namespace sees differently. The server does not listen on TCP.
 */
const ACCESS = '# The folder of the socket is closed to other users.\nlocal all all trust\n';

function localeOptions(major: number): string[] {
  return major >= 17
    ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
    : ['--locale=C.UTF-8'];
}

async function initialise(
  data: string,
  locale: string[],
  { dataDir, binaries, runAs, pidFile, env }: Parameters<typeof makeData>[0],
): Promise<void> {
  const [command = '', ...args] = [
    ...[...runAs.prefix, binaries.initdb, '--pgdata', data, '--username=fanfare', '--encoding=UTF8'],
    ...[...locale, '--data-checksums', '--auth-local=trust', '--auth-host=reject', '--no-instructions'],
  ];
  // Supervised, so that it ends with this process.
  const initdb = startSupervised(command, args, {
    ...{ pidFile, cwd: dataDir, signals: SIGNALS, env, uid: runAs.uid, gid: runAs.gid },
  });
  const { code } = await initdb.ended;
  await initdb.stop();
  if (code !== 0) throw await failureOf(`initdb ended with code ${code}`, initdb.tail(), dataDir);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
