import { execFile } from 'node:child_process';
import { chmod, chown, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../../startup-error';

const run = promisify(execFile);

/**
 * How to run PostgreSQL's programs, which refuse to run as root: with a command in front, or as another user.
 * Empty where this process is not root.
 */
export interface RunAs {
  prefix: readonly string[];
  uid?: number;
  gid?: number;
}

/** With a cold page cache and a busy machine, the first start of a program is slow. */
const TRIAL_TIMEOUT_MS = 20_000;

/**
 * In its own user namespace the server sees itself as another user, while the file system sees root. Its files
 * thus belong to root, like all others in the data directory. It has only the rights of a file's owner.
 */
const IN_USER_NAMESPACE = ['unshare', '--user', '--map-user=65534', '--map-group=65534'];

export interface Places {
  /** The data directory of the program. */
  dataDir: string;
  /** The database's folder within it, which may not exist yet. */
  data: string;
  /** The program to run. */
  postgres: string;
  /** For its PATH. */
  env: Record<string, string | undefined>;
}

/**
 * The user to run the server as: the owner of its data or, for new data, the first user who can reach both data
 * and programs.
 */
export async function chooseRunAs(places: Places): Promise<RunAs> {
  if (process.getuid?.() !== 0) return runAsSelf(places);
  const owner = await stat(places.data).catch(() => undefined);
  if (owner && owner.uid !== 0) return requireReach({ prefix: [], uid: owner.uid, gid: owner.gid }, places);
  if (await canReach({ prefix: IN_USER_NAMESPACE }, places)) return { prefix: IN_USER_NAMESPACE };
  if (owner) {
    throw new StartupError(
      `The database in ${places.data} belongs to root, and PostgreSQL does not run as root here: this machine allows no user namespace`,
      `Give it to another user with \`chown -R <user> ${places.dataDir}\` and start as that user.`,
    );
  }
  for (const user of await owners(places.dataDir)) {
    if (await canReach(user, places)) return user;
  }
  // Only as the last choice, because it lets another user through the data directory.
  for (const user of await serverUsers(places)) {
    if (await canReach(user, places)) return user;
  }
  throw new StartupError(
    'PostgreSQL does not run as root: this machine allows no user namespace, and no other user can reach ' +
      `${places.dataDir} and ${places.postgres}`,
    'Start as another user, put FANFARE_DATA_DIR and the program where one can reach them, or set DATABASE_URL to a server that is already running.',
  );
}

/** A container may give a process a user id without a name, which initdb refuses. */
async function runAsSelf(places: Places): Promise<RunAs> {
  for (const prefix of [[], IN_USER_NAMESPACE]) {
    if (await canReach({ prefix }, places)) return { prefix };
  }
  throw new StartupError(
    `PostgreSQL cannot run as this user: user id ${process.getuid?.()} has no name, or cannot run ${places.postgres}`,
    'Start as a user whom /etc/passwd names, or set DATABASE_URL to a server that is already running.',
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
 * Users that own only servers' data: `postgres`, then `nobody`. The data directory belongs to root and is
 * closed to them, so their group gets the right to pass through it by name, but not to list it.
 */
async function serverUsers({ dataDir, postgres, env }: Places): Promise<RunAs[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    const user: RunAs = { prefix: [], uid: Number(uid), gid: Number(gid) };
    const reaches =
      uid && gid && (await canReach(user, { dataDir: dirname(dataDir), data: '', postgres, env }));
    if (!reaches) continue;
    const { mode, uid: owner } = await stat(dataDir);
    if ((mode & 0o001) === 0) {
      await chown(dataDir, owner, Number(gid));
      await chmod(dataDir, (mode & 0o777) | 0o010);
    }
    return [user];
  }
  return [];
}

/**
 * Tries access as that user, because modes, ACLs, mounts and kernel settings all matter. It also looks up the
 * user's name, as initdb does.
 */
async function canReach({ prefix, uid, gid }: RunAs, { dataDir, postgres, env }: Places): Promise<boolean> {
  const command = [...prefix, 'sh', '-c', 'test -x "$0" && id -un && "$1" --version', dataDir, postgres];
  try {
    const [program = '', ...args] = command;
    await run(program, args, {
      cwd: '/',
      env: { PATH: env.PATH },
      timeout: TRIAL_TIMEOUT_MS,
      ...(uid === undefined ? {} : { uid, gid }),
    });
    return true;
  } catch {
    return false;
  }
}
