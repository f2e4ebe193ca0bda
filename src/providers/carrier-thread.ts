import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { LIMITS } from '../domain/limits';
import { monotonicMs, openThread } from '../thread';
import { faultOf } from './fault';
import type { CarrierRequest, HttpAnswer, MayBegin, NoAnswer } from './http-exchange';

export interface PoolOptions {
  origin: string;
  connections: number;
  answerMs: number;
  answerBytes: number;
}

export type ToCarrierThread =
  | ({ kind: 'open'; pool: number } & PoolOptions)
  /** Requests that may begin until a moment of the monotonic clock, in milliseconds. */
  | { kind: 'ask'; until: number; requests: Request[] }
  | { kind: 'close'; pool: number }
  | { kind: 'end' };

type Request = [id: number, pool: number, request: CarrierRequest];

/** The first one only says that the thread has begun to listen. */
export interface FromCarrierThread {
  answers: Answered[];
  /** A pool that has no connection any more. */
  closed?: number | undefined;
}

export type Answered = [id: number, answer: HttpAnswer | NoAnswer];

export interface CarrierPool {
  ask(request: CarrierRequest, mayBegin: MayBegin): Promise<HttpAnswer | NoAnswer>;
  /** Waits a little for the answers of those under way; the others end without one. */
  close(): Promise<void>;
}

interface Asked {
  /** The thread that was given it. */
  worker?: Worker;
  pool: number;
  request: CarrierRequest;
  mayBegin: MayBegin;
  answer(answer: HttpAnswer | NoAnswer): void;
}

/**
 * Makes the requests of all carriers over HTTP in a thread of its own, which runs while a pool is open: on the main thread
 * they were a third of what a message costs it (decision 63). Whether a request may still begin is known on the main
 * thread. So that is asked as the request is given away, and holds for a moment; a request that waited longer for a
 * connection comes back and is asked again. If the thread dies, the requests under way have no answer, and the next one starts
 * another thread.
 */
class CarrierThread {
  private worker: Worker | undefined;
  private isListening = false;
  private readonly pools = new Map<number, PoolOptions>();
  private readonly closing = new Map<number, () => void>();
  private end: NodeJS.Timeout | undefined;
  private readonly waiting: Asked[] = [];
  private readonly underWay = new Map<number, Asked>();
  private lastId = 0;
  private isGiving = false;

  openPool(options: PoolOptions): CarrierPool {
    const pool = ++this.lastId;
    clearTimeout(this.end);
    this.pools.set(pool, options);
    if (this.worker) post(this.worker, { kind: 'open', pool, ...options });
    let closed: Promise<void> | undefined;
    return {
      ask: (request, mayBegin) => new Promise((answer) => this.add({ pool, request, mayBegin, answer })),
      close: () => (closed ??= this.close(pool)),
    };
  }

  /** What is asked for in one turn of the event loop goes over together, because each message wakes the other thread. */
  private add(asked: Asked): void {
    this.waiting.push(asked);
    if (this.isGiving) return;
    this.isGiving = true;
    setImmediate(() => this.give());
  }

  /** Nothing is given to a thread before it listens: what it never got is not in doubt when it cannot start. */
  private give(): void {
    this.isGiving = false;
    if (this.waiting.length === 0) return;
    const worker = this.worker ?? this.start();
    // Without this a program whose last work is a request would end before the answer.
    worker.ref();
    if (!this.isListening) return;
    const until = monotonicMs() + LIMITS.carrierBeginMs;
    const requests: Request[] = [];
    for (const asked of this.waiting.splice(0)) {
      if (!this.pools.has(asked.pool)) asked.answer(CLOSED);
      else if (!asked.mayBegin()) asked.answer(STAYED);
      else {
        const id = ++this.lastId;
        asked.worker = worker;
        this.underWay.set(id, asked);
        requests.push([id, asked.pool, asked.request]);
      }
    }
    if (requests.length > 0) post(worker, { kind: 'ask', until, requests });
    else this.rest(worker);
  }

  private start(): Worker {
    const worker = openThread(join(__dirname, 'carrier-thread-main'));
    this.worker = worker;
    this.isListening = false;
    worker.on('message', (message: FromCarrierThread) => this.take(message, worker));
    let cause: unknown = new Error('The thread ended');
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => this.lose(worker, cause));
    for (const [pool, options] of this.pools) post(worker, { kind: 'open', pool, ...options });
    return worker;
  }

  private take({ answers, closed }: FromCarrierThread, worker: Worker): void {
    for (const [id, answer] of answers) {
      const asked = this.underWay.get(id);
      this.underWay.delete(id);
      if (!asked) continue;
      if ('stayed' in answer && answer.stayed) this.add(asked);
      else asked.answer(answer);
    }
    if (closed !== undefined) this.closed(closed);
    if (worker === this.worker && !this.isListening) {
      this.isListening = true;
      this.give();
    }
    this.rest(worker);
  }

  private rest(worker: Worker): void {
    if (this.underWay.size + this.waiting.length + this.closing.size === 0) worker.unref();
  }

  /** Which of the requests that it had was begun cannot be known any more. */
  private lose(worker: Worker, cause: unknown): void {
    const fault = faultOf(cause);
    for (const [id, asked] of this.underWay) {
      if (asked.worker !== worker) continue;
      this.underWay.delete(id);
      asked.answer({ code: 'thread_lost', offered: true, stayed: false, fault });
    }
    if (this.worker !== worker) return;
    this.worker = undefined;
    for (const asked of this.waiting.splice(0))
      asked.answer({ code: 'thread_lost', offered: false, stayed: false, fault });
    for (const pool of [...this.closing.keys()]) this.closed(pool);
  }

  private async close(pool: number): Promise<void> {
    this.give();
    const { worker } = this;
    if (!worker) return this.closed(pool);
    await new Promise<void>((closed) => {
      this.closing.set(pool, closed);
      worker.ref();
      post(worker, { kind: 'close', pool });
    });
  }

  private closed(pool: number): void {
    this.pools.delete(pool);
    this.closing.get(pool)?.();
    this.closing.delete(pool);
    if (this.pools.size > 0) return;
    // Accounts are often closed to be opened anew with other settings, and to start the thread takes longer than to keep it.
    this.end = setTimeout(() => {
      if (this.worker) post(this.worker, { kind: 'end' });
      this.worker = undefined;
    }, LIMITS.carrierThreadIdleMs).unref();
  }
}

/** One for the process. */
export const carrierThread = new CarrierThread();

const CLOSED: NoAnswer = { code: 'UND_ERR_CLOSED', offered: false, stayed: false };
const STAYED: NoAnswer = { code: 'stayed', offered: false, stayed: true };

function post(worker: Worker, message: ToCarrierThread): void {
  worker.postMessage(message);
}
