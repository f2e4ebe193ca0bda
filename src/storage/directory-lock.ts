import { closeSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '../startup-error';

/**
 * Takes the directory for this process alone; returns the release. The lock is a file that names its
 * owner by process id and start time, so that one left behind by a killed process is recognised even
 * when its id has been given to another (in a container every process may be number 1).
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, 'lock');
  const me = { pid: process.pid, startedAt: startTimeOf(process.pid) };
  for (let tries = 0; tries < 3; tries++) {
    try {
      const descriptor = openSync(file, 'wx', 0o600);
      writeSync(descriptor, JSON.stringify(me));
      closeSync(descriptor);
      return () => unlinkSync(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new StartupError(
          `The data directory ${directory} cannot be written: ${(error as Error).message}`,
          'Give this user write access to it, or set FANFARE_DATA_DIR to another directory.',
          { cause: error },
        );
      }
    }
    const owner = readOwner(file);
    if (owner && isAlive(owner)) {
      throw new StartupError(
        `The data directory ${directory} is in use by process ${owner.pid}`,
        'Stop that process, or set FANFARE_DATA_DIR to another directory; two processes on one would lose data.',
      );
    }
    try {
      unlinkSync(file);
    } catch {
      // Another process was quicker to remove the stale lock; the next turn decides.
    }
  }
  throw new StartupError(`The lock on ${directory} could not be taken`, 'Try again in a moment.');
}

interface Owner {
  pid: number;
  startedAt: string;
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

/** Start time in clock ticks since boot, from Linux's /proc; empty where there is none. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name may hold spaces and brackets; the fields after the last bracket do not.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
