import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { StartupError } from '../startup-error';
import { lockDirectory } from './directory-lock';
import type { EmbeddedAnswer, EmbeddedRequest } from './embedded-worker';
import type { ConnectionPool } from './storage';
import { textOf } from './text-values';

/**
 * The embedded engine: PGlite, which is PostgreSQL in WebAssembly, behind the shape of a pool.
 *
 * Differences from a real pool, all of them handled here:
 * - It is one session: transactions run one after the other, and other statements between them.
 * - It computes on its thread. On the main thread it would starve timers and sockets, so it has its own.
 * - Two processes on one directory silently lose rows, so the directory is locked first.
 * - Nothing vacuums or checkpoints by itself, so the owner does (see embedded-worker.ts).
 * - It never calls fsync: what was committed survives the death of the process, not a power cut.
 */
export async function openEmbeddedPool(
  dataDir: string,
  onLost: (error: StartupError) => void = () => undefined,
): Promise<ConnectionPool> {
  const unlock = lockDirectory(dataDir);
  try {
    const session = await EmbeddedSession.open(join(dataDir, 'database'), onLost);
    return new EmbeddedPool(session, unlock) as unknown as ConnectionPool;
  } catch (error) {
    unlock();
    throw error;
  }
}

interface QueryResult {
  command: string;
  rowCount: number;
  rows: unknown[];
}

interface Job {
  client: symbol;
  text: string;
  parameters: readonly unknown[];
  done(result: QueryResult): void;
  fail(error: unknown): void;
}

const BEGINS = /^\s*(begin|start transaction)\b/i;
const BEGUN: QueryResult = { command: 'BEGIN', rowCount: 0, rows: [] };
const ENDS = /^\s*(commit|rollback(?! to))\b/i;

/**
 * Statements go to the session as they come, without waiting for the answers of earlier ones: it works
 * in order anyway, and would stand still while our thread is busy. Only while a client's transaction is
 * open do the others' statements wait, in order: with each answer for as long as our thread is busy, so that no
 * transaction waits for its beginning, and what is done often is better one statement.
 */
class EmbeddedPool {
  private owner: symbol | undefined;
  private begun: Promise<unknown> = Promise.resolve();
  private waiting: Job[] = [];

  constructor(
    private readonly session: EmbeddedSession,
    private readonly unlock: () => void,
  ) {}

  async connect(): Promise<{ query: EmbeddedSession['query']; release: () => void }> {
    const client = Symbol('client');
    return {
      query: (text, parameters) => this.ask(client, text, parameters),
      release: () => {
        if (this.owner === client) void this.ask(client, 'rollback', []).catch(() => undefined);
      },
    };
  }

  async end(): Promise<void> {
    await this.ask(Symbol('last'), 'select 1', []).catch(() => undefined);
    await this.session.close();
    this.unlock();
  }

  private ask(client: symbol, text: string, parameters: readonly unknown[]): Promise<QueryResult> {
    return new Promise((done, fail) => {
      const job: Job = { client, text, parameters, done, fail };
      const mustWait = this.owner === undefined ? this.waiting.length > 0 : this.owner !== client;
      if (mustWait) this.waiting.push(job);
      else this.start(job);
    });
  }

  private start({ client, text, parameters, done, fail }: Job): void {
    if (BEGINS.test(text)) {
      this.owner = client;
      this.begun = this.session.query(text, parameters);
      // Its failure is told by the statements after it.
      this.begun.catch(() => undefined);
      done(BEGUN);
      return;
    }
    const answer = this.session.query(text, parameters);
    if (this.owner !== client) {
      answer.then(done, fail);
      return;
    }
    Promise.all([answer, this.begun]).then(([result]) => done(result), fail);
    if (!ENDS.test(text)) return;
    this.owner = undefined;
    while (this.owner === undefined) {
      const next = this.waiting.shift();
      if (!next) return;
      this.start(next);
    }
  }
}

class EmbeddedSession {
  private readonly waiting = new Map<
    number,
    { done: (result: QueryResult) => void; fail: (error: Error) => void }
  >();
  private nextId = 1;
  private dead: Error | undefined;
  /** Not before it is open, and not when it is closed. */
  private onLost: ((error: StartupError) => void) | undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', (answer: EmbeddedAnswer) => this.settle(answer));
    worker.on('error', (error) => this.die(error));
    worker.on('exit', () => this.die(new Error('its thread has ended')));
  }

  static async open(directory: string, onLost: (error: StartupError) => void): Promise<EmbeddedSession> {
    const worker = new Worker(workerFile(), { workerData: { directory } });
    const session = new EmbeddedSession(worker);
    try {
      await session.query('select 1', []);
      session.onLost = onLost;
      return session;
    } catch (error) {
      await worker.terminate();
      throw new StartupError(
        `The embedded database in ${directory} cannot be opened: ${(error as Error).message}`,
        'Restore the directory from a backup, or move it away to begin with an empty one.',
        { cause: error },
      );
    }
  }

  query(text: string, parameters: readonly unknown[]): Promise<QueryResult> {
    if (this.dead) return Promise.reject(this.dead);
    const id = this.nextId++;
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail });
      this.worker.postMessage({ id, text, parameters: parameters.map(textOf) } satisfies EmbeddedRequest);
    });
  }

  async close(): Promise<void> {
    this.onLost = undefined;
    this.worker.postMessage({ id: 0, text: '', parameters: [] } satisfies EmbeddedRequest);
    await new Promise<void>((done) => {
      if (this.dead) done();
      else this.worker.once('exit', () => done());
    });
  }

  private settle(answer: EmbeddedAnswer): void {
    const caller = this.waiting.get(answer.id);
    if (!caller) return;
    this.waiting.delete(answer.id);
    if (answer.error) caller.fail(Object.assign(new Error(answer.error.message), answer.error));
    else caller.done({ command: answer.command, rowCount: answer.rowCount, rows: answer.rows });
  }

  private die(cause: Error): void {
    if (this.dead) return;
    const message = `The embedded database has stopped: ${cause.message}`;
    this.dead = Object.assign(new Error(message, { cause }), { code: CRASH_SHUTDOWN });
    for (const { fail } of this.waiting.values()) fail(this.dead);
    this.waiting.clear();
    this.onLost?.(new StartupError(message, AFTER_A_CRASH, { cause }));
  }
}

/** What PostgreSQL itself says to those who are connected when it crashes. */
const CRASH_SHUTDOWN = '57P02';
const AFTER_A_CRASH =
  'See that the disk has room and the machine memory, and start it again: what was committed is there. For more than a trial, set DATABASE_URL to a PostgreSQL server.';

/** Worker threads load JavaScript: from the build, also when this file itself runs from source in a test. */
function workerFile(): string {
  const beside = join(__dirname, 'embedded-worker.js');
  if (existsSync(beside)) return beside;
  return resolve(__dirname, '../../dist/src/storage/embedded-worker.js');
}
