import { readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log';
import { StartupError } from '../../startup-error';
import { commandLine, endLeftOver } from '../../supervision/supervised-process';
import { SIGNALS } from './signals';
import { SOCKET_NAME } from './socket-directory';

const POLL_MS = 50;
/** Time from SIGQUIT, which ends a server process at once, to SIGKILL. */
const QUIT_MS = 1_000;

export interface LeftOverOptions {
  data: string;
  pidFile: string;
  socketDirectory: string;
  log: Log;
}

/**
 * Removes what a killed process or a killed server has left behind. The caller holds the data directory, so
 * that a server that still runs has no owner.
 */
export async function clearLeftOver({ data, pidFile, socketDirectory, log }: LeftOverOptions): Promise<void> {
  const leftOver = await endLeftOver(pidFile, data, SIGNALS);
  if (leftOver.state === 'ended') {
    log.warn({ pid: leftOver.pid }, 'ended a PostgreSQL server that a killed process had left running');
  }
  if (leftOver.state === 'in use') throw inUse(data, undefined);
  await clearPostmasterFile(data);
  await endOrphans(data, log);
  for (const name of [SOCKET_NAME, `${SOCKET_NAME}.lock`]) {
    await rm(join(socketDirectory, name), { force: true });
  }
}

/**
 * A server refuses to start while its pid file names a living process. After a restart of the machine or a
 * container, another process may have that number, even this one. And a killed server keeps its number until
 * its parent reaps it, which process 1 of some containers never does.
 */
async function clearPostmasterFile(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  if ((await commandLine(pid)).includes(data)) throw inUse(data, pid);
  // If the number is free, the server reads the file itself, and checks for shared memory in use.
  if (isTaken(pid)) await rm(file, { force: true });
}

function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function inUse(data: string, pid: number | undefined): StartupError {
  return new StartupError(
    `Another process${pid === undefined ? '' : `, ${pid},`} runs a PostgreSQL server on ${data}`,
    'Stop that process, or set FANFARE_DATA_DIR to another directory.',
  );
}

/**
 * After a server was killed, the processes of its connections live until their statement ends, and no new
 * server starts meanwhile. On Linux they are found by their working directory; elsewhere the new server is
 * tried again.
 */
async function endOrphans(data: string, log: Log): Promise<void> {
  if (process.platform !== 'linux') return;
  const place = await realpath(data).catch(() => undefined);
  if (place === undefined) return;
  const quitUntil = Date.now() + QUIT_MS;
  for (let round = 0; ; round++) {
    const orphans = await processesIn(place);
    if (orphans.length === 0) return;
    if (round === 0) log.warn({ pids: orphans }, 'ending what a killed PostgreSQL server left behind');
    for (const pid of orphans) {
      try {
        process.kill(pid, Date.now() > quitUntil ? 'SIGKILL' : 'SIGQUIT');
      } catch {
        // The process has ended since it was found.
      }
    }
    await delay(POLL_MS);
  }
}

async function processesIn(place: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const directory = await readlink(`/proc/${pid}/cwd`).catch(() => '');
      // A shell whose working directory is that folder is no server.
      return directory === place && /^postgres/.test(await commandLine(pid)) ? pid : 0;
    }),
  );
  return found.filter((pid) => pid > 0);
}
