import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNoRoom } from '../full-disk';
import { StartupError } from '../startup-error';
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
 * same id (in a container every process may be number 1).
 */
export function lockDirectory(directory: string): () => void {
  const name = `lock-${newId('claim')}`;
  const claim = join(directory, name);
  for (let tries = 1; ; tries++) {
    putDown(claim, directory);
    const other = livingOwner(directory, name);
    if (other === undefined) return () => rmSync(claim, { force: true });
    rmSync(claim, { force: true });
    if (tries === TRIES_MAX) {
      throw new StartupError(
        `The data directory ${directory} is in use by process ${other}`,
        'Stop that process, or set FANFARE_DATA_DIR to another directory; two processes on one would lose data.',
      );
    }
    pause(Math.random() * STEP_BACK_MS_MAX);
  }
}

/** The process that owns the directory, if there is one. */
export function ownerOf(directory: string): number | undefined {
  if (!existsSync(directory)) return undefined;
  try {
    return livingOwner(directory);
  } catch (error) {
    throw new StartupError(
      `The data directory ${directory} cannot be read: ${(error as Error).message}`,
      'Give this user read access to it, or set FANFARE_DATA_DIR to another directory.',
      { cause: error },
    );
  }
}

interface Owner {
  pid: number;
  startedAt: string;
}

/** Written under another name and renamed, so that no process reads half a claim and takes its owner for dead. */
function putDown(claim: string, directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const me: Owner = { pid: process.pid, startedAt: startTimeOf(process.pid) };
    writeFileSync(`${claim}.new`, JSON.stringify(me), { mode: 0o600 });
    renameSync(`${claim}.new`, claim);
  } catch (error) {
    throw new StartupError(
      `The data directory ${directory} cannot be written: ${(error as Error).message}`,
      isNoRoom(error)
        ? 'Make room on its disk and start again; what was committed is there.'
        : 'Give this user write access to it, or set FANFARE_DATA_DIR to another directory.',
      { cause: error },
    );
  }
}

function livingOwner(directory: string, mine?: string): number | undefined {
  let living: number | undefined;
  for (const name of readdirSync(directory)) {
    if (!name.startsWith('lock-') || name.endsWith('.new') || name === mine) continue;
    const owner = readOwner(join(directory, name));
    if (owner && isAlive(owner)) living = owner.pid;
    else rmSync(join(directory, name), { force: true });
  }
  return living;
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const startedAt = startTimeOf(owner.pid);
  return startedAt === '' || startedAt === owner.startedAt;
}

/** Start time in clock ticks since boot, from Linux's /proc; empty on other systems. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name may contain spaces and brackets; the fields after the last bracket do not.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
