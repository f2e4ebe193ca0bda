import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartupError } from '../startup-error';
import { isNoRoom, NoRoomError } from '../supervision/full-disk';
import {
  giveSigns,
  givesSigns,
  removeSocket,
  removeStraySigns,
  type Whereabouts,
  whereabouts,
} from './claim-signs';
import { newId } from './new-id';

/**
 * Claims of processes that start at the same moment see each other and all step back. Their random pauses then
 * differ.
 */
const TRIES_MAX = 5;
const STEP_BACK_MS_MAX = 100;

/**
 * Takes the directory for this process alone; returns the release.
 *
 * Every process first writes a claim, a file of its own that names it by process id and start time, and then
 * looks for others. If it finds the claim of a living process, it withdraws its own, because the directory is
 * taken. Of any two claims at least one is seen by the other's owner, so that two can never both stay.
 *
 * A claim of a dead process is removed. That is safe, because no claim's name is used twice; with one shared
 * file, two processes could both replace it. The start time tells a dead owner from a later process with the
 * same id (in a container every process may be number 1). A process id of another container says nothing here, so
 * that such an owner is known by other signs (claim-signs.ts).
 */
export async function lockDirectory(
  directory: string,
  onWait: OnWait = () => undefined,
): Promise<() => void> {
  makeFor(directory);
  for (let tries = 1; ; tries++) {
    const name = `lock-${newId('claim')}`;
    const claim = join(directory, name);
    const callOff = await giveSigns(directory, name).catch((error: unknown) => {
      throw unwritable(directory, error);
    });
    const withdraw = () => {
      rmSync(claim, { force: true });
      callOff();
    };
    let other: number | undefined;
    try {
      putDown(claim, directory);
      other = await livingOwner(directory, name, onWait);
      if (other === undefined) removeStraySigns(directory);
    } catch (error) {
      withdraw();
      throw error;
    }
    if (other === undefined) return withdraw;
    withdraw();
    if (tries === TRIES_MAX) {
      throw new StartupError(
        `The data directory ${directory} is in use by process ${other}`,
        'Stop that process, or set FANFARE_DATA_DIR to another directory; two processes on one would lose data.',
      );
    }
    await delay(Math.random() * STEP_BACK_MS_MAX);
  }
}

/** Called with what is waited for, and for how long at most. */
type OnWait = (text: string) => void;

/** The process that owns the directory, if there is one. */
export async function ownerOf(directory: string): Promise<number | undefined> {
  if (!existsSync(directory)) return undefined;
  try {
    return await livingOwner(directory);
  } catch (error) {
    throw new StartupError(
      `The data directory ${directory} cannot be read: ${(error as Error).message}`,
      'Give this user read access to it, or set FANFARE_DATA_DIR to another directory.',
      { cause: error },
    );
  }
}

/** Claims of earlier builds do not say where their owner was. */
interface Owner extends Partial<Whereabouts> {
  pid: number;
  startedAt: string;
}

function makeFor(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unwritable(directory, error);
  }
}

/** Written under another name and renamed, so that no process reads half a claim and takes its owner for dead. */
function putDown(claim: string, directory: string): void {
  try {
    const me: Owner = { pid: process.pid, startedAt: statOf(process.pid).startedAt, ...whereabouts() };
    writeFileSync(`${claim}.new`, JSON.stringify(me), { mode: 0o600 });
    renameSync(`${claim}.new`, claim);
  } catch (error) {
    rmSync(`${claim}.new`, { force: true });
    throw unwritable(directory, error);
  }
}

/** Whether this user may not do there what a start needs. */
export function isForbidden(error: unknown, directory: string): boolean {
  const { code, path } = error as NodeJS.ErrnoException;
  if (path === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')) return false;
  return `${resolve(path)}/`.startsWith(`${resolve(directory)}/`);
}

export function unwritable(directory: string, error: unknown): StartupError {
  const message = `The data directory ${directory} cannot be written: ${(error as Error).message}`;
  if (isNoRoom(error)) return new NoRoomError(message, directory, { cause: error });
  return new StartupError(
    message,
    'Give this user write access to it, or set FANFARE_DATA_DIR to another directory.',
    { cause: error },
  );
}

async function livingOwner(directory: string, mine?: string, onWait?: OnWait): Promise<number | undefined> {
  const looks = readdirSync(directory)
    .filter((name) => name.startsWith('lock-') && !name.endsWith('.new') && name !== mine)
    .map(async (name) => {
      const owner = readOwner(join(directory, name));
      if (owner && (await isAlive(owner, directory, name, onWait))) return owner.pid;
      rmSync(join(directory, name), { force: true });
      removeSocket(directory, name);
      return undefined;
    });
  return (await Promise.all(looks)).find((pid) => pid !== undefined);
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

async function isAlive(
  owner: Owner,
  directory: string,
  name: string,
  onWait: OnWait = () => undefined,
): Promise<boolean> {
  const { namespace, boot } = owner;
  const here = whereabouts();
  if (
    namespace !== undefined &&
    boot !== undefined &&
    !(namespace === here.namespace && boot === here.boot)
  ) {
    return givesSigns(directory, name, { namespace, boot }, (ms) =>
      onWait(
        `waiting up to ${ms / 1_000} s for a sign of process ${owner.pid}, which had ${directory} on another machine or before a restart of this one`,
      ),
    );
  }
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { state, startedAt } = statOf(owner.pid);
  return state !== ENDED && (startedAt === '' || startedAt === owner.startedAt);
}

/** A process that was killed and keeps its number, because its parent has not asked about it. Process 1 of some containers never does. */
const ENDED = 'Z';

/** State, and start time in clock ticks since boot, from Linux's /proc; empty on other systems. */
function statOf(pid: number): { state: string; startedAt: string } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name may contain spaces and brackets; the fields after the last bracket do not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
  } catch {
    return { state: '', startedAt: '' };
  }
}
