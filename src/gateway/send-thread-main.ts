import { parentPort } from 'node:worker_threads';
import type { Chunk, FromSendThread, ToSendThread } from './send-thread';
import { type HttpAnswer, NoAnswer, openTransport, type Transport } from './transport';

/** The program of the thread that makes single requests (send-thread.ts). */
const pools = new Map<number, Pool>();
const chunks = new Map<number, SendingChunk>();

parentPort?.on('message', (message: ToSendThread) => {
  switch (message.kind) {
    case 'open':
      pools.set(message.pool, new Pool(message.url, message.connections));
      break;
    case 'send':
      pools.get(message.pool)?.send(new SendingChunk(message.id, message.chunk));
      break;
    case 'stop':
      chunks.get(message.id)?.stop();
      break;
    case 'close':
      close(message.pool);
  }
});

/** Requests that are under way are answered first, also those of other pools that close. Without a pool nothing keeps the thread. */
function close(id: number): void {
  void pools
    .get(id)
    ?.close()
    .finally(() => {
      pools.delete(id);
      if (pools.size === 0) setImmediate(() => parentPort?.close());
    });
}

/**
 * Campaigns get connections in turn. Of one campaign, a chunk is sent before the next one begins, so that the results of
 * the one are recorded while the other leaves. A request waits here and not in undici, so that after a stop none leaves
 * that had waited for a connection.
 */
class Pool {
  private readonly transport: Transport;
  private readonly campaigns = new Map<string, SendingChunk[]>();

  constructor(
    url: string,
    private free: number,
  ) {
    this.transport = openTransport(url, free);
  }

  send(chunk: SendingChunk): void {
    const before = this.campaigns.get(chunk.campaign);
    if (before) before.push(chunk);
    else this.campaigns.set(chunk.campaign, [chunk]);
    this.fill();
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  private fill(): void {
    while (this.free > 0) {
      const chunk = this.next();
      if (!chunk) return;
      this.free -= 1;
      void chunk.sendNext(this.transport).then(() => {
        this.free += 1;
        this.fill();
      });
    }
  }

  /** The chunk whose request leaves next. Its campaign stands last for the one after it. */
  private next(): SendingChunk | undefined {
    for (const [campaign, waiting] of this.campaigns) {
      this.campaigns.delete(campaign);
      while (waiting[0] && !waiting[0].mayGoOn()) waiting.shift();
      if (!waiting[0]) continue;
      this.campaigns.set(campaign, waiting);
      return waiting[0];
    }
    return undefined;
  }
}

class SendingChunk {
  private readonly answers: Answers;
  private sent = 0;
  private underWay = 0;
  private end: number;

  constructor(
    private readonly id: number,
    private readonly of: Chunk,
  ) {
    this.answers = new Answers(id);
    this.end = of.bodies.length;
    chunks.set(id, this);
  }

  get campaign(): string {
    return this.of.campaign;
  }

  /** False once all have left that may; it ends at its time, after one request at least, so that the next chunk has fewer. */
  mayGoOn(): boolean {
    if (this.sent > 0 && Date.now() >= this.of.until) this.stop();
    return this.sent < this.end;
  }

  async sendNext(transport: Transport): Promise<void> {
    const index = this.sent++;
    const { path, headers, bodies } = this.of;
    this.underWay += 1;
    try {
      const answer = await transport.request('POST', path, { headers, body: bodies[index] as string });
      if (answer.status === 401) this.stop();
      this.answers.add(index, answer);
    } catch (error) {
      this.answers.miss(index, error);
    }
    this.underWay -= 1;
    this.finishOnceAnswered();
  }

  stop(): void {
    this.end = this.sent;
    this.finishOnceAnswered();
  }

  private finishOnceAnswered(): void {
    if (this.underWay === 0 && this.sent === this.end && chunks.delete(this.id)) this.answers.finish();
  }
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

parentPort?.postMessage({ id: 0, taken: [], answers: [], isLast: false } satisfies FromSendThread);
