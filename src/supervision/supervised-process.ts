import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Time from the stop signal to the second signal, which ends the server at once. */
const GRACE_SECONDS = 5;
/** Time from that one to SIGKILL. */
const LAST_GRACE_SECONDS = 1;
const TAIL_BYTES = 4_000;
const POLL_MS = 50;
const LAST_WORDS_MS = 2_000;

/**
 * A server process that does not outlive this one, however this one ends. Between the two stands a watchdog, a
 * shell that waits on a pipe whose other end only this process holds. When the pipe closes, by stop() or by our
 * sudden death, the watchdog ends the server. Both are in their own process group, so that a terminal's Ctrl-C
 * reaches only this process, which then stops the server in order.
 *
 * The process ids of server and watchdog are in `pidFile` before the server runs its first instruction.
 * endLeftOver() uses them at the next start, in case the watchdog was killed too.
 */
export interface SupervisedProcess {
  /** Process id of the server; known as soon as the server has done anything. */
  pid(): Promise<number>;
  /** The last lines the server wrote. */
  tail(): string;
  /** Resolves when the server and its watchdog are gone; `code` as a shell gives it. */
  ended: Promise<{ code: number }>;
  stop(): Promise<void>;
}

/** Signals that end a server: the first in order, the second, after the grace, at once. Names as for `kill`. */
export interface StopSignals {
  stop: 'TERM' | 'INT';
  atOnce: 'KILL' | 'QUIT';
}

export interface SupervisedOptions {
  pidFile: string;
  cwd: string;
  signals: StopSignals;
  env?: Record<string, string | undefined>;
  /** User to run it as, including the watchdog, which writes the pid file. */
  uid?: number | undefined;
  gid?: number | undefined;
  onOutput?: (line: string) => void;
}

/**
 * $1 pid file, $2 grace in seconds, $3 and $4 signals, then the server's command. The watcher runs beside
 * `wait`, because a shell cannot wait for a process and a pipe at once; it ends with the server. By KILL, because a
 * watcher that has just been forked still has this shell's trap, and outlives a TERM.
 *
 * Whether to wait once more is asked of the trap, not of the server's process id: dash may have reaped a server that
 * ended at once, and only `wait` still has its code. 127 is what `wait` says of a code that it has already given.
 */
const WATCHDOG = `
pidfile=$1 grace=$2 stop=$3 atonce=$4; shift 4
sh -c 'echo $$ $PPID > "$0" && exec "$@"' "$pidfile" "$@" </dev/null 3<&- &
server=$!
trap 'again=yes; kill -$stop $server' TERM INT HUP
(
  read -r _ <&3
  kill -$stop $server
  while [ $grace -gt 0 ] && kill -0 $server; do grace=$((grace - 1)); sleep 1; done
  kill -$atonce $server
  sleep ${LAST_GRACE_SECONDS}
  kill -KILL $server
) >/dev/null 2>&1 &
watcher=$!
code=
while
  again=
  wait $server
  got=$?
  [ -n "$code" ] && [ $got -eq 127 ] || code=$got
  [ -n "$again" ]
do :; done
exec 2>/dev/null
kill -KILL $watcher
exit $code
`;

export function startSupervised(
  command: string,
  args: string[],
  options: SupervisedOptions,
): SupervisedProcess {
  const { pidFile, cwd, env, uid, gid, signals } = options;
  const own = ['fanfare-watchdog', pidFile, `${GRACE_SECONDS}`, signals.stop, signals.atOnce];
  const watchdog = spawn('sh', ['-c', WATCHDOG, ...own, command, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid }),
  });
  let tail = '';
  const take = (chunk: string) => {
    tail = (tail + chunk).slice(-TAIL_BYTES);
    for (const line of chunk.split('\n')) if (line) options.onOutput?.(line);
  };
  for (const stream of [watchdog.stdout, watchdog.stderr]) stream?.setEncoding('utf8').on('data', take);
  const lifeline = watchdog.stdio[3];
  // The pipe breaks when the watchdog ends, which is no failure.
  lifeline?.on('error', () => {});
  const ended = new Promise<{ code: number }>((done) => {
    watchdog.once('error', (error) => {
      tail = error.message;
      done({ code: 127 });
    });
    watchdog.once('exit', async (code) => {
      // The server's last lines may still be on their way; a killed watchdog never closes the pipe.
      await Promise.race([once(watchdog, 'close'), delay(LAST_WORDS_MS, undefined, { ref: false })]);
      done({ code: code ?? 137 });
    });
  });
  return {
    pid: async () => (await readPids(options.pidFile)).server,
    tail: () => tail.trim(),
    ended,
    async stop() {
      lifeline?.destroy();
      await Promise.race([ended, killGroupLate(watchdog)]);
      await rm(options.pidFile, { force: true });
    },
  };
}

/** Kills the group in case the watchdog itself hangs, because the program must be able to end. */
async function killGroupLate(watchdog: ChildProcess): Promise<void> {
  await delay((GRACE_SECONDS + LAST_GRACE_SECONDS + 1) * 1_000, undefined, { ref: false });
  if (watchdog.pid === undefined || watchdog.exitCode !== null) return;
  try {
    process.kill(-watchdog.pid, 'SIGKILL');
  } catch {
    // The process ended at this moment.
  }
}

/**
 * Makes sure that no server of an earlier process runs; returns the process id of a server that it ended.
 * `mark` occurs only in this server's command line, so that another process that got an old id is left alone. A
 * server with a living watchdog has an owner or is being ended.
 */
export async function endLeftOver(
  pidFile: string,
  mark: string,
  signals: StopSignals,
): Promise<{ state: 'none' | 'in use' } | { state: 'ended'; pid: number }> {
  const { server, watchdog } = await readPids(pidFile);
  const isLeft = async (pid: number) => pid > 0 && (await commandLine(pid)).includes(mark);
  if (!(await isLeft(server))) return { state: 'none' };
  const ownEnd = Date.now() + (GRACE_SECONDS + LAST_GRACE_SECONDS + 1) * 1_000;
  while (await isLeft(watchdog)) {
    if (Date.now() > ownEnd) return { state: 'in use' };
    await delay(POLL_MS);
  }
  const deadline = Date.now() + GRACE_SECONDS * 1_000;
  const lastDeadline = deadline + LAST_GRACE_SECONDS * 1_000;
  if (await isLeft(server)) signal(server, `SIG${signals.stop}`);
  while (await isLeft(server)) {
    if (Date.now() > lastDeadline) signal(server, 'SIGKILL');
    else if (Date.now() > deadline) signal(server, `SIG${signals.atOnce}`);
    await delay(POLL_MS);
  }
  await rm(pidFile, { force: true });
  return { state: 'ended', pid: server };
}

async function readPids(pidFile: string): Promise<{ server: number; watchdog: number }> {
  const [server, watchdog] = (await readFile(pidFile, 'utf8').catch(() => '')).trim().split(' ');
  return { server: Number(server) || 0, watchdog: Number(watchdog) || 0 };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended since it was found.
  }
}

/** Empty when there is no such process, or it has ended and waits to be reaped. */
export async function commandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') {
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    }
    return (await run('ps', ['-ww', '-o', 'args=', '-p', `${pid}`])).stdout;
  } catch {
    return '';
  }
}
