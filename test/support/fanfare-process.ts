import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { cloneDatabase, dropDatabase, newDatabaseName } from './databases';
import { freePort } from './free-port';
import { freshNamespace } from './namespaces';
import { MAIN } from './root';

/** The program as a user runs it: its own process group, its own directory, its own port. */
export interface FanfareProcess {
  readonly baseUrl: string;
  readonly output: () => string;
  readonly pid: number;
  /** kill -9 of the whole group; resolves when it is gone. */
  killGroup(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  readonly exited: Promise<number | null>;
}

const READY_LIMIT_MS = 60_000;

export interface Place {
  dataDir: string;
  env: Record<string, string>;
  remove(): Promise<void>;
}

/**
 * A data directory, a database and an environment that outlive a process, to start the next one on. In a test run the
 * database and the Temporal namespace are on the run's servers, unless `env` says otherwise: with an empty
 * `DATABASE_URL` or `TEMPORAL_ADDRESS` the program runs a server of its own.
 */
export async function makePlace(env: Record<string, string> = {}): Promise<Place> {
  const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-e2e-'));
  const shared = process.env.FANFARE_TEST_BROKER === undefined ? undefined : await ofTheRun(env);
  return {
    dataDir,
    env: {
      ...(process.env as Record<string, string>),
      FANFARE_DATA_DIR: dataDir,
      FANFARE_HTTP_PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
      ...shared,
      ...env,
    },
    async remove() {
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
      if (shared?.DATABASE_URL) await dropDatabase(shared.DATABASE_URL);
    },
  };
}

async function ofTheRun(env: Record<string, string>): Promise<Record<string, string>> {
  const shared: Record<string, string> = {};
  if (env.DATABASE_URL === undefined) shared.DATABASE_URL = await cloneDatabase(newDatabaseName());
  if (env.TEMPORAL_ADDRESS === undefined) {
    const { address, namespace } = await freshNamespace();
    Object.assign(shared, { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
  }
  return shared;
}

/** Starts the program, or another build of it, without waiting for it, with a command in front that becomes it. */
export function startFanfare(
  place: Place,
  args: string[] = ['up'],
  main = MAIN,
  front: readonly string[] = [],
): FanfareProcess {
  const [command = '', ...rest] = [...front, process.execPath, main, ...args];
  const child: ChildProcess = spawn(command, rest, {
    env: place.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (output += chunk));
  let isEnding = args[0] !== 'up';
  const exited = new Promise<number | null>((done) => {
    child.once('exit', (code, signal) => {
      if (!isEnding) {
        // Some tests expect it; in any other, every request after it is refused, and this says why.
        process.stderr.write(
          `fanfare ${args.join(' ')} ended by itself (${code ?? signal}):\n${output.slice(-4_000)}\n`,
        );
      }
      done(code);
    });
  });
  const pid = child.pid as number;
  return {
    baseUrl: `http://127.0.0.1:${place.env.FANFARE_HTTP_PORT}`,
    output: () => output,
    pid,
    exited,
    async killGroup() {
      isEnding = true;
      process.kill(-pid, 'SIGKILL');
      await exited;
    },
    async stop(signal = 'SIGTERM') {
      isEnding = true;
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exited;
    },
  };
}

/** Resolves when `/readyz` answers 200; fails with the process's output when it ends before that. */
export async function untilReady(fanfare: FanfareProcess): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  let ended = false;
  void fanfare.exited.then(() => {
    ended = true;
  });
  for (;;) {
    if (ended) throw new Error(`fanfare ended before it was ready:\n${fanfare.output()}`);
    if (Date.now() > deadline) throw new Error(`fanfare is not ready after 60 s:\n${fanfare.output()}`);
    const pool = new Pool(fanfare.baseUrl, { connections: 1 });
    try {
      const answer = await pool.request({ method: 'GET', path: '/readyz' });
      await answer.body.dump();
      if (answer.statusCode === 200) return;
    } catch {
      // Not listening yet.
    } finally {
      await pool.close();
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

export interface Credentials {
  baseUrl: string;
  workspace: { id: string };
  user: { id: string; email: string; password: string };
  client: { id: string; secret: string };
  apiKey: string;
  inboundSecret: string;
  temporal: { address: string; namespace: string };
}

export function readCredentials(place: Place): Credentials {
  return JSON.parse(readFileSync(join(place.dataDir, 'credentials.json'), 'utf8')) as Credentials;
}
