import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { openThread } from '../thread';
import { type HttpAnswer, NoAnswer } from './transport';

/** Requests to one path of a service that differ only in their bodies. */
export interface Chunk {
  path: string;
  headers: Readonly<Record<string, string>>;
  /** JSON texts, each of a request of its own. */
  bodies: readonly string[];
  campaign: string;
  /** Milliseconds since the epoch. The headers hold until then, and no further request leaves after it. */
  until: number;
}

export type ToSendThread =
  | { kind: 'open'; pool: number; url: string; connections: number }
  | { kind: 'send'; pool: number; id: number; chunk: Chunk }
  | { kind: 'stop'; id: number }
  | { kind: 'close'; pool: number };

/** Answers to some requests of a chunk. The first one is of none, and says that the thread has begun to listen. */
export interface FromSendThread {
  id: number;
  /** Indexes of requests whose answer says that the message was taken, and no more. */
  taken: number[];
  answers: [index: number, answer: HttpAnswer | { offered: boolean; cause: string }][];
  /** No request of the chunk is under way any more, and none will leave. */
  isLast: boolean;
}

/** Called once for each request that left or could not leave; the others were not sent. */
type OnAnswer = (index: number, answer: HttpAnswer | NoAnswer) => void;

interface UnderWay {
  worker: Worker;
  unanswered: Set<number>;
  onAnswer: OnAnswer;
  end(): void;
}

export interface SendPool {
  /**
   * Resolves when no request of the chunk is under way any more. After the first answer 401, after the signal and after
   * the chunk's time no further one leaves.
   */
  send(chunk: Chunk, onAnswer: OnAnswer, stopped?: AbortSignal): Promise<void>;
  /** Requests that are under way are still answered, and no others leave. */
  close(): void;
}

/**
 * Makes single requests by the thousand in a thread of its own, which runs while a pool is open. On the main
 * thread they were half of what a recipient costs it: campaigns to a service without bulk sends reached 0.43 of a bare
 * loop, and reach 0.52 with the thread (decision 62). If the thread dies, what was under way has no answer, and
 * the next chunk starts another one.
 */
export class SendThread {
  private worker: Worker | undefined;
  /** Of the present thread: false once it has ended before it listened. */
  private listens: Promise<boolean> = Promise.resolve(false);
  private readonly pools = new Map<number, { url: string; connections: number }>();
  private readonly underWay = new Map<number, UnderWay>();
  private lastId = 0;

  openPool(url: string, connections: number): SendPool {
    const pool = ++this.lastId;
    this.pools.set(pool, { url, connections });
    if (this.worker) ask(this.worker, { kind: 'open', pool, url, connections });
    else this.start();
    return {
      send: (chunk, onAnswer, stopped) => this.send(pool, chunk, onAnswer, stopped),
      close: () => this.close(pool),
    };
  }

  private async send(pool: number, chunk: Chunk, onAnswer: OnAnswer, stopped?: AbortSignal): Promise<void> {
    const worker = this.pools.has(pool) ? (this.worker ?? this.start()) : undefined;
    // What the thread never got is not in doubt when it cannot start.
    const isLost = worker !== undefined && !(await this.listens);
    // The signal may have come, and the pool may have closed, while the chunk's token was asked for or the thread began.
    if (stopped?.aborted) return;
    if (!worker || isLost || !this.pools.has(pool)) {
      const cause = isLost ? 'The thread did not start' : 'The pool is closed';
      for (const index of chunk.bodies.keys()) onAnswer(index, new NoAnswer(false, cause));
      return;
    }
    const id = ++this.lastId;
    const stop = () => ask(worker, { kind: 'stop', id });
    stopped?.addEventListener('abort', stop);
    await new Promise<void>((end) => {
      this.underWay.set(id, { worker, unanswered: new Set(chunk.bodies.keys()), onAnswer, end });
      ask(worker, { kind: 'send', pool, id, chunk });
    }).finally(() => stopped?.removeEventListener('abort', stop));
  }

  private start(): Worker {
    const worker = openThread(join(__dirname, 'send-thread-main'));
    this.worker = worker;
    this.listens = new Promise((resolve) => {
      worker.once('message', () => resolve(true));
      worker.once('exit', () => resolve(false));
    });
    worker.on('message', (answered: FromSendThread) => this.answer(answered));
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => this.lose(worker, cause));
    for (const [pool, of] of this.pools) ask(worker, { kind: 'open', pool, ...of });
    return worker;
  }

  private answer({ id, taken, answers, isLast }: FromSendThread): void {
    const chunk = this.underWay.get(id);
    if (!chunk) return;
    const settle = (index: number, answer: HttpAnswer | NoAnswer) => {
      chunk.unanswered.delete(index);
      chunk.onAnswer(index, answer);
    };
    for (const index of taken) settle(index, TAKEN);
    for (const [index, answer] of answers)
      settle(index, 'offered' in answer ? new NoAnswer(answer.offered, answer.cause) : answer);
    if (!isLast) return;
    this.underWay.delete(id);
    chunk.end();
  }

  /** Which of a chunk's requests had left cannot be known any more. */
  private lose(worker: Worker, cause: unknown): void {
    if (this.worker === worker) this.worker = undefined;
    for (const [id, chunk] of this.underWay) {
      if (chunk.worker !== worker) continue;
      this.underWay.delete(id);
      for (const index of chunk.unanswered) chunk.onAnswer(index, new NoAnswer(true, cause));
      chunk.end();
    }
  }

  private close(pool: number): void {
    if (!this.pools.delete(pool) || !this.worker) return;
    ask(this.worker, { kind: 'close', pool });
    // Without pools the thread ends when its last requests have.
    if (this.pools.size === 0) this.worker = undefined;
  }
}

const TAKEN: HttpAnswer = { status: 202, headers: {}, body: undefined };

function ask(worker: Worker, message: ToSendThread): void {
  worker.postMessage(message);
}
