import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { readBody, resultOf } from './http-answer';
import { openHttpCarrier } from './http-carrier';
import type { CarrierRequest, MayBegin } from './http-exchange';
import type { HandOver, HandOverResult, Provider } from './provider';

export interface HttpProviderOptions {
  channel: Channel;
  /** Each message is one POST here; a user and password in it are sent in the Basic scheme. */
  url: string;
  /** The carrier takes a message once, however often it is given the same Idempotency-Key. */
  idempotent: boolean;
  /** Further headers of every request. */
  headers?: Record<string, string> | undefined;
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
  const constant = constantParts(url, options.headers);
  const batchMax = LIMITS.httpProviderConnections;
  const carrier = openHttpCarrier({
    url,
    connections: batchMax,
    answerMs: options.answerTimeoutMs ?? LIMITS.httpProviderAnswerMs,
    answerBytes: LIMITS.httpProviderAnswerBytes,
  });

  async function handOne(message: HandOver, mayBegin: MayBegin): Promise<HandOverResult> {
    const answer = await carrier.ask(requestFor(message, constant), mayBegin);
    if ('status' in answer) {
      return resultOf(answer, readBody(answer.text), { messageId: message.id, prefix: 'http' });
    }
    if (answer.stayed) return { kind: 'stayed' };
    const { code, fault } = answer;
    if (!answer.offered) return { kind: 'transient', code, unreached: true, fault };
    return idempotent ? { kind: 'transient', code, inDoubt: true, fault } : { kind: 'unknown', fault };
  }

  return {
    name: 'http',
    channel,
    capabilities: { idempotent, receipts: true, batchMax, parallel: batchMax, answersEach: true },
    start: async () => undefined,
    handOver: carrier.handOver(handOne),
    close: () => carrier.close(),
  };
}

/** What every request has in common; headers as names and values in turn, as undici takes them. */
function constantParts(url: URL, own: Record<string, string> = {}) {
  const headers: Record<string, string> = { ...own, 'content-type': 'application/json' };
  if (url.username || url.password) {
    const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  }
  return { path: url.pathname + url.search, headers: Object.entries(headers).flat() };
}

function requestFor(message: HandOver, { path, headers }: ReturnType<typeof constantParts>): CarrierRequest {
  return {
    method: 'POST',
    path,
    headers: headers.concat('idempotency-key', message.id),
    body: JSON.stringify(bodyOf(message)),
  };
}

/** Written out, because an object that is made by spreading costs 2 µs, for every message. */
function bodyOf(message: HandOver): Record<keyof Omit<Required<HandOver>, 'workspaceId'>, unknown> {
  const { id, uid, channel, to, from, subject, html, text, headers, xml, flow, voice } = message;
  const { campaign, expiresAt, attempt } = message;
  return {
    id,
    uid,
    channel,
    to,
    from,
    subject,
    html,
    text,
    headers,
    xml,
    flow,
    voice,
    campaign,
    expiresAt,
    attempt,
  };
}
