import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { Pool } from 'undici';
import { LIMITS } from '../domain/limits';
import { monotonicMs } from '../thread';
import type { Answered, FromCarrierThread, PoolOptions, ToCarrierThread } from './carrier-thread';
import { faultOf } from './fault';
import { exchange, type NoAnswer } from './http-exchange';

/** The program of the thread that makes carriers' requests (carrier-thread.ts). */
const pools = new Map<number, { pool: Pool; answerMs: number }>();

parentPort?.on('message', (message: ToCarrierThread) => {
  switch (message.kind) {
    case 'open':
      pools.set(message.pool, { pool: openPool(message), answerMs: message.answerMs });
      break;
    case 'ask':
      ask(message);
      break;
    case 'close':
      void close(message.pool);
      break;
    case 'end':
      parentPort?.close();
  }
});

function openPool({ origin, connections, answerMs, answerBytes }: PoolOptions): Pool {
  return new Pool(origin, {
    connections,
    // A second request behind an unanswered one would be in doubt with it.
    pipelining: 1,
    connect: { timeout: Math.min(5_000, answerMs) },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
    maxResponseSize: answerBytes,
  });
}

function ask({ until, requests }: Extract<ToCarrierThread, { kind: 'ask' }>): void {
  const mayBegin = () => monotonicMs() < until;
  for (const [id, poolId, request] of requests) {
    const of = pools.get(poolId);
    if (!of) answers.add([id, { code: 'UND_ERR_CLOSED', offered: false, stayed: false }]);
    else
      exchange(of.pool, request, mayBegin, of.answerMs).then(
        (answer) => answers.add([id, answer]),
        // It was not even taken by the pool. Without an answer it would end the thread, and leave all others in doubt.
        (error) => answers.add([id, { ...NOT_MADE, fault: faultOf(error) }]),
      );
  }
}

async function close(id: number): Promise<void> {
  const of = pools.get(id);
  if (!of) return;
  const giveUp = new AbortController();
  const patience = delay(LIMITS.httpDrainMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
  await Promise.race([of.pool.close(), patience]);
  giveUp.abort();
  // Messages without an answer are now in doubt, as they would be after a kill.
  await of.pool.destroy();
  pools.delete(id);
  answers.post(id);
}

/** Answers that come in one turn of the event loop travel together, because each message wakes the other thread. */
class Answers {
  private batch: Answered[] = [];
  private isPosting = false;

  add(answered: Answered): void {
    this.batch.push(answered);
    if (this.isPosting) return;
    this.isPosting = true;
    setImmediate(() => this.post());
  }

  post(closed?: number): void {
    this.isPosting = false;
    if (this.batch.length === 0 && closed === undefined) return;
    const message: FromCarrierThread = { answers: this.batch.splice(0), closed };
    parentPort?.postMessage(message);
  }
}

const answers = new Answers();
const NOT_MADE: NoAnswer = { code: 'request_not_made', offered: false, stayed: false };

parentPort?.postMessage({ answers: [] } satisfies FromCarrierThread);
