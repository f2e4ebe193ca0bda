import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { StartupError } from '../startup-error';
import { lockDirectory } from './directory-lock';
import type { EmbeddedAnswer, EmbeddedRequest } from './embedded-worker';
import type { ConnectionPool } from './storage';

/**
 * The embedded engine: PGlite, which is PostgreSQL in WebAssembly, behind the shape of a pool.
 *
 * Differences from a real pool, all of them handled here:
 * - It is one session. A "connection" is a turn at it: transactions run one after the other.
 * - It computes on its thread. On the main thread it would starve timers and sockets, so it has its own.
 * - Two processes on one directory silently lose rows, so the directory is locked first.
 * - Nothing vacuums or checkpoints by itself, so the owner does (see embedded-worker.ts).
 * - It never calls fsync: what was committed survives the death of the process, not a power cut.
 */
export async function openEmbeddedPool(dataDir: string): Promise<ConnectionPool> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const unlock = lockDirectory(dataDir);
  try {
    const session = await EmbeddedSession.open(join(dataDir, 'database'));
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

/** One client at a time holds the session; the rest wait in order. */
class EmbeddedPool {
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly session: EmbeddedSession,
    private readonly unlock: () => void,
  ) {}

  async connect(): Promise<{ query: EmbeddedSession['query']; release: () => void }> {
    const previous = this.turn;
    let release: () => void = () => undefined;
    this.turn = new Promise((done) => {
      release = done;
    });
    await previous;
    return { query: (text, parameters) => this.session.query(text, parameters), release };
  }

  async end(): Promise<void> {
    await this.turn;
    await this.session.close();
    this.unlock();
  }
}

class EmbeddedSession {
  private readonly waiting = new Map<
    number,
    { done: (result: QueryResult) => void; fail: (error: Error) => void }
  >();
  private nextId = 1;
  private dead: Error | undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', (answer: EmbeddedAnswer) => this.settle(answer));
    worker.on('error', (error) => this.die(error));
    worker.on('exit', () => this.die(new Error('The embedded database has stopped')));
  }

  static async open(directory: string): Promise<EmbeddedSession> {
    const worker = new Worker(workerFile(), { workerData: { directory } });
    const session = new EmbeddedSession(worker);
    try {
      await session.query('select 1', []);
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
      this.worker.postMessage({ id, text, parameters: [...parameters] } satisfies EmbeddedRequest);
    });
  }

  async close(): Promise<void> {
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

  private die(error: Error): void {
    this.dead ??= error;
    for (const { fail } of this.waiting.values()) fail(error);
    this.waiting.clear();
  }
}

/** Worker threads load JavaScript: from the build, also when this file itself runs from source in a test. */
function workerFile(): string {
  const beside = join(__dirname, 'embedded-worker.js');
  if (existsSync(beside)) return beside;
  return resolve(__dirname, '../../dist/src/storage/embedded-worker.js');
}
