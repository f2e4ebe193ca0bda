import { parentPort } from 'node:worker_threads';
import { inParallel } from '../domain/in-parallel';
import type { Chunk, FromSendThread, ToSendThread } from './send-thread';
import { type HttpAnswer, NoAnswer, openTransport, type Transport } from './transport';

/** The program of the thread that makes single requests (send-thread.ts). */
const pools = new Map<number, Transport>();
const stops = new Map<number, () => void>();

parentPort?.on('message', (message: ToSendThread) => {
  switch (message.kind) {
    case 'open':
      pools.set(message.pool, openTransport(message.url, message.connections));
      break;
    case 'send':
      void send(message.id, message.chunk, pools.get(message.pool) as Transport);
      break;
    case 'stop':
      stops.get(message.id)?.();
      break;
    case 'close':
      close(message.pool);
  }
});

async function send(id: number, { path, headers, bodies, atOnce, until }: Chunk, transport: Transport) {
  const answers = new Answers(id);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  stops.set(id, stop);
  const indexes = Array.from(bodies.keys());
  await inParallel(indexes, atOnce, async (index) => {
    // The first ones leave however late it is, so that the chunk gets on.
    if (isStopped || (index >= atOnce && Date.now() >= until)) return;
    const body = bodies[index] as string;
    await transport.request('POST', path, { headers, body }).then(
      (answer) => {
        if (answer.status === 401) stop();
        answers.add(index, answer);
      },
      (error: unknown) => answers.miss(index, error),
    );
  });
  stops.delete(id);
  answers.finish();
}

/** Requests that are under way are answered first. Without a pool nothing keeps the thread. */
function close(pool: number): void {
  const transport = pools.get(pool);
  pools.delete(pool);
  void transport?.close().finally(() => {
    if (pools.size === 0) setImmediate(() => parentPort?.close());
  });
}

/** Answers travel together, because each message wakes the other thread. */
const TOGETHER_MS = 20;

class Answers {
  private batch: Omit<FromSendThread, 'id' | 'isLast'> = { taken: [], answers: [] };
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly id: number) {}

  add(index: number, answer: HttpAnswer): void {
    if (saysOnlyTaken(answer)) this.batch.taken.push(index);
    else this.batch.answers.push([index, answer]);
    this.postSoon();
  }

  miss(index: number, error: unknown): void {
    const offered = !(error instanceof NoAnswer) || error.offered;
    const cause = String(error instanceof NoAnswer ? error.cause : error);
    this.batch.answers.push([index, { offered, cause }]);
    this.postSoon();
  }

  finish(): void {
    clearTimeout(this.timer);
    this.post(true);
  }

  private postSoon(): void {
    this.timer ??= setTimeout(() => this.post(false), TOGETHER_MS);
  }

  private post(isLast: boolean): void {
    const message: FromSendThread = { id: this.id, ...this.batch, isLast };
    parentPort?.postMessage(message);
    this.timer = undefined;
    this.batch = { taken: [], answers: [] };
  }
}

/**
 * Whether the answer has nothing that is read besides its status. Only its index travels then: to copy each answer with
 * its headers took a tenth of the rate.
 */
function saysOnlyTaken({ status, headers, body }: HttpAnswer): boolean {
  return (
    status >= 200 &&
    status < 300 &&
    headers['x-outbox-room'] === undefined &&
    (body as { data?: unknown } | undefined)?.data === undefined
  );
}
