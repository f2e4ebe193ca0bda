import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { TASK_QUEUES } from '../domain/task-queues';
import type { Log } from '../log';
import { StartupError } from '../startup-error';
import { isFullDisk, NoRoomError } from '../supervision/full-disk';
import {
  type CrashOutcome,
  type HealthCheck,
  keepRunning,
  type RunningServer,
} from '../supervision/keep-running';
import { endLeftOver, type StopSignals, startSupervised } from '../supervision/supervised-process';

/** The first start creates the database file and its schema, which takes seconds on a busy machine. */
const READY_LIMIT_MS = 30_000;
const POLL_MS = 25;
const PREFERRED_PORTS = { grpc: 7233, ui: 8233 };
const PORT_TRIES = 3;
const SIGNALS: StopSignals = { stop: 'TERM', atOnce: 'KILL' };

/**
 * Settings for a server with a single history shard. The default poll rate is meant for many shards: a workflow
 * of one activity takes 150 ms with it instead of 23. One task queue partition is enough for one machine; eager
 * execution saves a dispatch.
 */
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=1000',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  'system.enableActivityEagerExecution=true',
  // Otherwise an error of its database reaches us as "something went wrong", and no log of ours has its cause.
  'frontend.maskInternalErrorDetails=false',
];
/** Three times as fast as the defaults. Survives kill -9; a power cut may lose the last commits. */
const SQLITE_PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

export interface DevServerOptions {
  executable: string;
  /** Holds the server's database file and the file with its process id. */
  dataDir: string;
  namespace: string;
  log: Log;
  /** Used if they are free; otherwise any free ones. 0 asks for any. */
  preferredPorts?: Ports;
  /** How to find a server that runs and no longer works. Tests give their own. */
  health?: HealthCheck;
  /** Called when a server that died by itself runs again on the same ports, or is given up. */
  onCrash?: (outcome: CrashOutcome) => void;
}

export interface DevServer {
  address: string;
  uiUrl: string;
  /** Process id of the server itself; a different one after a restart. */
  readonly pid: number;
  /** SIGTERM, then SIGKILL after five seconds. */
  stop(): Promise<void>;
}

interface Ports {
  grpc: number;
  ui: number;
}

interface Files {
  database: string;
  pid: string;
  /** Is there until the database has been complete for the first time. */
  unfinished: string;
}

/**
 * Starts Temporal's development server on this data directory and keeps it running. It never outlives this
 * process (supervised-process.ts). The caller must have the directory to itself.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const files = {
    database: join(dataDir, 'temporal.db'),
    pid: join(dataDir, 'temporal.pid'),
    unfinished: join(dataDir, 'temporal.unfinished'),
  };
  const start = async (ports: Ports, signal: AbortSignal) => {
    await clearLeftOver(files, options.log);
    await beginDatabase(files);
    const running = await launch(options, files, ports, signal).catch(async (error: Error) => {
      if (!WAS_NEVER_USED.test(error.message) || existsSync(files.unfinished)) throw error;
      const aside = await setAside(files);
      options.log.warn(
        { aside },
        'began the Temporal database anew, because its first start had not been completed',
      );
      await beginDatabase(files);
      return launch(options, files, ports, signal);
    });
    try {
      await finishDatabase(files);
    } catch (error) {
      await running.process.stop();
      throw error;
    }
    return running;
  };
  const { first, ports } = await launchOnFreePorts(options.preferredPorts ?? PREFERRED_PORTS, start);
  const address = `127.0.0.1:${ports.grpc}`;
  const server = keepRunning(first, {
    name: 'Temporal server',
    log: options.log,
    dataDir: resolve(options.dataDir),
    onCrash: options.onCrash,
    start: (signal) => start(ports, signal),
    health: options.health ?? serverHealth(address, options.namespace),
  });
  return {
    address,
    uiUrl: `http://127.0.0.1:${ports.ui}`,
    get pid() {
      return server.current.pid;
    },
    stop: server.stop,
  };
}

async function launchOnFreePorts(
  preferred: Ports,
  start: (ports: Ports, signal: AbortSignal) => Promise<RunningServer>,
): Promise<{ first: RunningServer; ports: Ports }> {
  let wanted = preferred;
  for (let tries = 1; ; tries++) {
    const ports = { grpc: await freePort(wanted.grpc), ui: await freePort(wanted.ui) };
    try {
      return { first: await start(ports, new AbortController().signal), ports };
    } catch (error) {
      // Another program may take a port between our check and the server's start.
      const portLost = /address already in use/.test((error as Error).message);
      if (!portLost || tries === PORT_TRIES) throw error;
      wanted = { grpc: 0, ui: 0 };
    }
  }
}

async function clearLeftOver(files: Files, log: Log): Promise<void> {
  const leftOver = await endLeftOver(files.pid, files.database, SIGNALS);
  if (leftOver.state === 'ended') {
    log.warn({ pid: leftOver.pid }, 'ended a Temporal server that a killed process had left running');
  }
  if (leftOver.state === 'in use') {
    throw new StartupError(
      `Another process runs a Temporal server on ${files.database}`,
      'Stop that process, or set FANFARE_DATA_DIR to another directory.',
    );
  }
}

/**
 * The server creates its tables one by one, and refuses a file for ever that has only some of them. Until it has
 * answered for the first time, no workflow can be in its file, so that a first start that was killed, or found no
 * room on the disk, is begun anew.
 */
async function beginDatabase({ database, unfinished }: Files): Promise<void> {
  if (existsSync(database) && !existsSync(unfinished)) return;
  await writeFile(unfinished, '', { mode: 0o600 });
  for (const suffix of SQLITE_SUFFIXES) await rm(`${database}${suffix}`, { force: true });
}

/**
 * Said of a file without the tables that a server writes to before it answers for the first time: earlier builds left
 * such a file, and no `temporal.unfinished` beside it, when their first start was killed.
 */
const WAS_NEVER_USED = /no such table: (namespaces|namespace_metadata|cluster_metadata_info)\b/;

/** Not deleted, because the file may be of another program. */
async function setAside({ database }: Files): Promise<string> {
  const aside = `${database}.incomplete`;
  for (const suffix of SQLITE_SUFFIXES.filter((suffix) => existsSync(`${database}${suffix}`))) {
    await rename(`${database}${suffix}`, `${aside}${suffix}`);
  }
  return aside;
}

/** SQLite itself leaves the last commits to the system, which a power cut would lose. */
async function finishDatabase({ database, unfinished }: Files): Promise<void> {
  if (!existsSync(unfinished)) return;
  for (const file of SQLITE_SUFFIXES.map((suffix) => `${database}${suffix}`).filter(existsSync)) {
    const handle = await open(file);
    await handle.sync().finally(() => handle.close());
  }
  await rm(unfinished);
}

const SQLITE_SUFFIXES = ['-wal', '-shm', ''];

async function launch(
  options: DevServerOptions,
  files: Files,
  ports: Ports,
  signal: AbortSignal,
): Promise<RunningServer> {
  const server = startSupervised(
    options.executable,
    serverArguments([options.namespace, markerOf(files)], files.database, ports),
    {
      pidFile: files.pid,
      cwd: resolve(options.dataDir),
      signals: SIGNALS,
      onOutput: (line) => options.log.debug({ line }, 'Temporal server'),
    },
  );
  let end: { code: number } | undefined;
  void server.ended.then((result) => {
    end = result;
  });
  const deadline = Date.now() + READY_LIMIT_MS;
  while (!(await isReady(ports.grpc, [options.namespace, markerOf(files)]))) {
    if (!end && !signal.aborted && Date.now() < deadline) {
      await delay(POLL_MS);
      continue;
    }
    await server.stop();
    throw await notReady(end?.code, server.tail(), resolve(options.dataDir), files);
  }
  return { process: server, pid: await server.pid() };
}

async function notReady(
  code: number | undefined,
  tail: string,
  dataDir: string,
  files: Files,
): Promise<StartupError> {
  const isKilled = code === KILLED;
  const ended = isKilled ? 'was killed as it started' : `ended with code ${code}`;
  const why = code === undefined ? `did not become ready in ${READY_LIMIT_MS / 1_000} s` : ended;
  const message = `The Temporal server ${why}. Its last words:\n${tail || '(none)'}`;
  if (await isFullDisk(dataDir, tail)) return new NoRoomError(message, dataDir);
  return new StartupError(
    message,
    isKilled
      ? 'Start again. A machine without memory left kills programs, and its kernel log says so.'
      : `If its database is damaged, move ${files.database} away: running campaigns are then lost to Temporal. ` +
          'Or set TEMPORAL_ADDRESS to another server.',
  );
}

/** By SIGKILL, as shells count it. */
const KILLED = 128 + 9;

function serverArguments(namespaces: string[], database: string, ports: Ports): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--log-level', 'warn'],
    ...namespaces.flatMap((namespace) => ['--namespace', namespace]),
    ...['--port', `${ports.grpc}`, '--ui-port', `${ports.ui}`, '--db-filename', database],
    ...SQLITE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...DYNAMIC_CONFIG.flatMap((value) => ['--dynamic-config-value', value]),
  ];
}

/**
 * A namespace that only this database has. If two servers start on the same port at the same moment, one of
 * them fails; without the marker its starter would find the other one ready.
 */
function markerOf({ database }: Files): string {
  return `fanfare-${createHash('sha256').update(database).digest('hex').slice(0, 16)}`;
}

/** The port is tried first, because a gRPC client that is refused once waits for a second before it tries again. */
async function isReady(port: number, namespaces: readonly string[]): Promise<boolean> {
  const accepts = await new Promise<boolean>((done) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => done(true)).on('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
  if (!accepts) return false;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    for (const namespace of namespaces) {
      await connection.withDeadline(Date.now() + 2_000, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
    }
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

/** The wanted port if it is free, otherwise another free one. */
async function freePort(wanted: number): Promise<number> {
  const server = createServer();
  const listens = await new Promise<boolean>((done) => {
    server.once('error', () => done(false)).listen(wanted, '127.0.0.1', () => done(true));
  });
  if (!listens) return freePort(0);
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

const EVERY_MS = 10_000;
/** Long, because a machine with more work than cores makes its server answer late, and a restart would not help. */
const RESTART_AFTER_MS = 60_000;
/**
 * SQLite's answer while a statement that was given up is still open: the server has one connection to its database,
 * and each statement on it is refused from then on. Two such answers are enough.
 */
const STORE_IS_STUCK = /interrupted \(9\)/;
const STUCK_MS = 1_000;
/** TASK_QUEUE_TYPE_WORKFLOW of Temporal's API. */
const WORKFLOW_TASKS = 1;

/**
 * Checks what every workflow needs: the store, and the queues by which workers get their tasks. A development
 * server was once seen to start workflows and refuse every poll of one queue for 50 minutes, until it was
 * restarted.
 */
export function serverHealth(address: string, namespace: string, everyMs = EVERY_MS): HealthCheck {
  return {
    everyMs,
    restartAfterMs: (why) => (STORE_IS_STUCK.test(why) ? STUCK_MS : RESTART_AFTER_MS),
    async ask() {
      // Without the client's own retries, which would end by saying only that time was up.
      const connection = Connection.lazy({ address, interceptors: [] });
      try {
        await connection.withDeadline(Date.now() + everyMs, async () => {
          await connection.workflowService.describeNamespace({ namespace });
          for (const name of Object.values(TASK_QUEUES)) {
            await connection.workflowService.describeTaskQueue({
              namespace,
              taskQueue: { name },
              taskQueueType: WORKFLOW_TASKS,
            });
          }
        });
      } finally {
        await connection.close();
      }
    },
  };
}
