import { chown, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Log } from '../../log';
import { type CrashOutcome, keepRunning, type RunningServer } from '../../supervision/keep-running';
import { startSupervised } from '../../supervision/supervised-process';
import { lockDirectory } from '../directory-lock';
import { dataOf, madeBy, makeData } from './data-directory';
import { failureOf } from './failure';
import { findPostgresBinaries, type PostgresBinaries } from './find-binaries';
import { serverHealth } from './health';
import { clearLeftOver } from './left-over';
import { chooseRunAs, type RunAs } from './run-as';
import { removeRunning, writeRunning } from './running-server';
import { serverSettings, thisMachine } from './settings';
import { SIGNALS } from './signals';
import { socketDirectory } from './socket-directory';

/** Without any sign of life. */
const READY_LIMIT_MS = 30_000;
/** While it reports that it is reading its log after a crash. */
const RECOVERY_LIMIT_MS = 10 * 60_000;
const POLL_MS = 25;
const CONNECT_TIMEOUT_MS = 5_000;

export interface ManagedPostgresOptions {
  /** Locked for this process alone. */
  dataDir: string;
  log: Log;
  /** For FANFARE_POSTGRES_BIN, PATH and XDG_RUNTIME_DIR. */
  env: Record<string, string | undefined>;
  /** How often to look whether the server hangs. Shorter in tests. */
  healthEveryMs?: number | undefined;
  /** Called when a server that died by itself or hung runs again at the same socket, or is given up. */
  onCrash?: ((outcome: CrashOutcome) => void) | undefined;
}

export interface ManagedPostgres {
  url: string;
  version: string;
  /** Process id of the server itself; a different one after a restart. */
  readonly pid: number;
  /** Ends connections and the server in order; takes at most seven seconds. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server on the data directory, creates its database at the first start, and keeps it
 * running. It never outlives this process (supervised-process.ts). Fails with a StartupError that names the
 * remedy, and then leaves nothing running.
 */
export async function startManagedPostgres(options: ManagedPostgresOptions): Promise<ManagedPostgres> {
  const unlock = await lockDirectory(options.dataDir, (text) => options.log.warn(text));
  try {
    return await startLocked(options, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Plan {
  dataDir: string;
  data: string;
  binaries: PostgresBinaries;
  runAs: RunAs;
  pidFile: string;
  socketDirectory: string;
  log: Log;
  env: Record<string, string | undefined>;
}

async function startLocked(options: ManagedPostgresOptions, unlock: () => void): Promise<ManagedPostgres> {
  const plan = await planStart(options);
  const { dataDir } = plan;
  await removeRunning(dataDir);
  await clearLeftOver(plan);
  if ((await madeBy(dataDir)) === undefined) await makeData(plan);
  const url = urlOf(plan.socketDirectory, 'fanfare');
  const start = async (signal: AbortSignal) => {
    await clearLeftOver(plan);
    const running = await launch(plan, signal);
    try {
      await writeRunning(dataDir, { url, pid: running.pid, version: plan.binaries.version });
    } catch (error) {
      await running.process.stop();
      throw error;
    }
    return running;
  };
  const server = keepRunning(await start(new AbortController().signal), {
    name: 'PostgreSQL server',
    log: options.log,
    dataDir,
    onCrash: options.onCrash,
    start,
    health: serverHealth(plan.socketDirectory, options.healthEveryMs),
  });
  return {
    url,
    version: plan.binaries.version,
    get pid() {
      return server.current.pid;
    },
    async stop() {
      await removeRunning(dataDir);
      await server.stop();
      unlock();
    },
  };
}

/** Finds everything that can be wrong before anything is created. */
async function planStart({ log, env, ...options }: ManagedPostgresOptions): Promise<Plan> {
  const dataDir = await realpath(options.dataDir);
  const data = dataOf(dataDir);
  const binaries = await findPostgresBinaries({ env, major: await madeBy(dataDir) });
  const runAs = await chooseRunAs({ dataDir, data, postgres: binaries.postgres, env });
  const runDirectory = join(dataDir, 'postgres-run');
  await mkdir(runDirectory, { recursive: true, mode: 0o700 });
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(runDirectory, runAs.uid, runAs.gid);
  return {
    ...{ dataDir, data, binaries, runAs, log },
    pidFile: join(runDirectory, 'postgres.pid'),
    socketDirectory: await socketDirectory(runDirectory, { env, runAs }),
    env: serverEnvironment(env),
  };
}

/** The server gets none of the shell's PG variables. Its messages are in English, because we read them. */
function serverEnvironment(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return { PATH: env.PATH, LD_LIBRARY_PATH: env.LD_LIBRARY_PATH, LC_ALL: 'C', TZ: 'UTC' };
}

function urlOf(directory: string, database: string): string {
  return `postgres:///${database}?host=${encodeURIComponent(directory).replaceAll('%2F', '/')}&user=fanfare`;
}

async function launch(plan: Plan, signal: AbortSignal): Promise<RunningServer> {
  const { data, dataDir, binaries, runAs, socketDirectory, pidFile, env, log } = plan;
  const { major } = binaries;
  const settings = Object.entries(serverSettings(thisMachine(), { socketDirectory, major }));
  const [command = '', ...args] = [
    ...[...runAs.prefix, binaries.postgres, '-D', data],
    ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const server = startSupervised(command, args, {
    ...{ pidFile, cwd: dataDir, signals: SIGNALS, env, uid: runAs.uid, gid: runAs.gid },
    onOutput: (line) => log.debug({ line }, 'PostgreSQL server'),
  });
  let end: { code: number } | undefined;
  void server.ended.then((result) => {
    end = result;
  });
  const startedAt = Date.now();
  for (;;) {
    const state = await stateOf(plan.socketDirectory);
    if (state === 'ready' && !end && !signal.aborted) return { process: server, pid: await server.pid() };
    const limit = state === 'recovering' ? RECOVERY_LIMIT_MS : READY_LIMIT_MS;
    if (end || signal.aborted || Date.now() > startedAt + limit) break;
    await delay(POLL_MS);
  }
  await server.stop();
  const why = end ? `it ended with code ${end.code}` : 'it did not become ready in time';
  throw await failureOf(why, server.tail(), dataDir);
}

/** Creates the database within the server too, if a process was killed before it did. */
async function stateOf(directory: string): Promise<'ready' | 'recovering' | 'away'> {
  const code = await ask(urlOf(directory, 'fanfare'), 'select 1');
  if (code === undefined) return 'ready';
  if (code === DATABASE_MISSING) await ask(urlOf(directory, 'postgres'), 'create database fanfare');
  return code === STARTING_UP ? 'recovering' : 'away';
}

const DATABASE_MISSING = '3D000';
const STARTING_UP = '57P03';

/** Returns the error's code, if there is one. */
async function ask(url: string, statement: string): Promise<string | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(statement);
    return undefined;
  } catch (error) {
    return String((error as { code?: unknown }).code);
  } finally {
    await client.end().catch(() => undefined);
  }
}
