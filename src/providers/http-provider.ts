import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { type HttpAnswer, resultOf } from './http-answer';
import { noticeOffers } from './notice-offers';
import type { HandOver, HandOverResult, Provider } from './provider';

export interface HttpProviderOptions {
  channel: Channel;
  /** Each message is one POST here; a user and password in it are sent in the Basic scheme. */
  url: string;
  /** The carrier takes a message once, however often it is given the same Idempotency-Key. */
  idempotent: boolean;
  /** How long one answer may take; shorter in tests. */
  answerTimeoutMs?: number | undefined;
}

/**
 * Hands messages to any carrier that speaks the contract of api.md 12: one POST per message, answered
 * with the carrier's id. Receipts come to POST /inbound/http/{secret}, so there is nothing to start.
 */
export function openHttpProvider(options: HttpProviderOptions): Provider {
  const { channel, idempotent } = options;
  const url = new URL(options.url);
  const timeoutMs = options.answerTimeoutMs ?? LIMITS.httpProviderAnswerMs;
  const pool = new Pool(url.origin, {
    connections: LIMITS.httpProviderConnections,
    // A second POST behind an unanswered one would be in doubt with it.
    pipelining: 1,
    connect: { timeout: Math.min(5_000, timeoutMs) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: LIMITS.httpProviderAnswerBytes,
  });
  const offered = new WeakSet<object>();
  const carrier = noticeOffers(pool, offered);
  const batchMax = LIMITS.httpProviderConnections;

  async function handOne(message: HandOver): Promise<HandOverResult> {
    const request = requestFor(message, url);
    let answer: HttpAnswer;
    try {
      const { statusCode, headers, body } = await carrier.request(request);
      // An answer whose body breaks off is an answer still, if its status says enough.
      const text = await body.text().catch((error: Error) => error);
      if (text instanceof Error && statusCode < 300) throw text;
      answer = { status: statusCode, headers, text: text instanceof Error ? '' : text };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'no_answer';
      return offered.has(request) && !idempotent ? { kind: 'unknown' } : { kind: 'transient', code };
    }
    return resultOf(answer, message.id);
  }

  return {
    name: 'http',
    channel,
    capabilities: { idempotent, receipts: true, batchMax },
    start: async () => undefined,
    async handOver(messages) {
      if (messages.length > batchMax) {
        throw new RangeError(`${messages.length} messages in a hand-over of at most ${batchMax}`);
      }
      return Promise.all(messages.map(handOne));
    },
    async close() {
      if (pool.destroyed) return;
      const giveUp = new AbortController();
      const patience = delay(LIMITS.httpDrainMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
      await Promise.race([pool.closed ? undefined : pool.close(), patience]);
      giveUp.abort();
      // What is still unanswered is in doubt, as it would be after a kill.
      await pool.destroy();
    },
  };
}

function requestFor(message: HandOver, url: URL): Dispatcher.RequestOptions {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'idempotency-key': message.id,
  };
  if (url.username || url.password) {
    const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  }
  return { method: 'POST', path: url.pathname + url.search, headers, body: JSON.stringify(message) };
}
