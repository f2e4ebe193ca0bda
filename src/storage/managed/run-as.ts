import { execFile } from 'node:child_process';
import { chmod, chown, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../../startup-error';

const run = promisify(execFile);

/**
 * How to run PostgreSQL's programs, which refuse to run as root: in front of the command, or as another user.
 * Empty where this process is not root.
 */
export interface RunAs {
  prefix: readonly string[];
  uid?: number;
  gid?: number;
}

/**
 * In a user namespace of its own the server sees itself as another user, and is root to the file system, so its
 * files are root's like all others in the data directory. It has no rights beyond those of a file's owner.
 */
const IN_USER_NAMESPACE = ['unshare', '--user', '--map-user=65534', '--map-group=65534'];

export interface Places {
  /** The data directory of the program. */
  dataDir: string;
  /** The database's own in it, which may not be there yet. */
  data: string;
  /** The program to run. */
  postgres: string;
}

/** Whom the server runs as: whoever owns its data; for new data the first who can reach both data and programs. */
export async function chooseRunAs(places: Places): Promise<RunAs> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const owner = await stat(places.data).catch(() => undefined);
  if (owner && owner.uid !== 0) return requireReach({ prefix: [], uid: owner.uid, gid: owner.gid }, places);
  if (await canReach({ prefix: IN_USER_NAMESPACE }, places)) return { prefix: IN_USER_NAMESPACE };
  if (owner) {
    throw new StartupError(
      `The database in ${places.data} belongs to root, and PostgreSQL does not run as root here: this machine allows no user namespace`,
      `Give it to another user with \`chown -R <user> ${places.dataDir}\` and start as that user.`,
    );
  }
  for (const user of [...(await owners(places.dataDir)), ...(await serverUsers(places))]) {
    if (await canReach(user, places)) return user;
  }
  throw new StartupError(
    'PostgreSQL does not run as root: this machine allows no user namespace, and no other user can reach ' +
      `${places.dataDir} and ${places.postgres}`,
    'Start as another user, put FANFARE_DATA_DIR and the program where one can reach them, or set DATABASE_URL to a server that is already running.',
  );
}

async function requireReach(user: RunAs, places: Places): Promise<RunAs> {
  if (await canReach(user, places)) return user;
  throw new StartupError(
    `The database in ${places.data} belongs to user ${user.uid}, who cannot reach it or ${places.postgres}`,
    'Let that user search the folders above both, or give the data to a user who can.',
  );
}

/** Users other than root who own the data directory or a folder above it, nearest first. */
async function owners(dataDir: string): Promise<RunAs[]> {
  const users: RunAs[] = [];
  for (let folder = dataDir; ; folder = dirname(folder)) {
    const { uid, gid } = await stat(folder);
    if (uid !== 0 && !users.some((user) => user.uid === uid)) users.push({ prefix: [], uid, gid });
    if (folder === dirname(folder)) return users;
  }
}

/**
 * Users that own nothing but what servers keep: `postgres`, then `nobody`. The data directory is root's and closed
 * to them, so their group is let through it, and no further: the group may enter by name and not list.
 */
async function serverUsers({ dataDir, postgres }: Places): Promise<RunAs[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    const user: RunAs = { prefix: [], uid: Number(uid), gid: Number(gid) };
    const reaches = uid && gid && (await canReach(user, { dataDir: dirname(dataDir), data: '', postgres }));
    if (!reaches) continue;
    const { mode } = await stat(dataDir);
    if ((mode & 0o001) === 0) {
      await chown(dataDir, 0, Number(gid));
      await chmod(dataDir, (mode & 0o777) | 0o010);
    }
    return [user];
  }
  return [];
}

/** Tries it, because modes, ACLs, mounts and kernel settings all have a say. */
async function canReach({ prefix, uid, gid }: RunAs, { dataDir, postgres }: Places): Promise<boolean> {
  const command = [...prefix, 'sh', '-c', 'test -x "$0" && "$1" --version', dataDir, postgres];
  try {
    const [program = '', ...args] = command;
    await run(program, args, { cwd: '/', timeout: 20_000, ...(uid === undefined ? {} : { uid, gid }) });
    return true;
  } catch {
    return false;
  }
}
