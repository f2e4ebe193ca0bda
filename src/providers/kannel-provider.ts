import { LIMITS } from '../domain/limits';
import { measureSms } from '../domain/sms-encoding';
import type { HttpAnswer } from './http-answer';
import { type MayBegin, openHttpCarrier } from './http-carrier';
import type { HandOver, HandOverResult, Provider } from './provider';

export interface KannelProviderOptions {
  /** Of sendsms. User and password stand before the host, or as `username` and `password` behind it. */
  url: string;
  /** Where Kannel reports receipts; it has a secret in it. */
  dlrUrl(): string;
  answerTimeoutMs?: number | undefined;
}

/** Delivered, not delivered, refused by the centre: 1, 2 and 16. What lies in between is not asked for. */
const DLR_MASK = 1 + 2 + 16;

/**
 * Hands messages to Kannel's smsbox, which cuts long texts and speaks with the centre. A message that smsbox
 * has taken it keeps; it does not know one that it is given again. Receipts come to
 * `/inbound/kannel/{secret}` (http/routes/inbound-kannel.ts) and name messages by our ids.
 */
export function openKannelProvider(options: KannelProviderOptions): Provider {
  const url = new URL(options.url);
  const batchMax = LIMITS.kannelConnections;
  const carrier = openHttpCarrier({
    url,
    connections: batchMax,
    answerMs: options.answerTimeoutMs ?? LIMITS.kannelAnswerMs,
    answerBytes: LIMITS.kannelAnswerBytes,
  });

  async function handOne(message: HandOver, mayBegin: MayBegin): Promise<HandOverResult> {
    const path = pathFor(message, url, options.dlrUrl());
    const answer = await carrier.ask({ method: 'GET', path }, mayBegin);
    if ('status' in answer) return resultOf(answer, message.id);
    if (answer.stayed) return { kind: 'stayed' };
    return answer.offered ? { kind: 'unknown' } : { kind: 'transient', code: answer.code };
  }

  return {
    name: 'kannel',
    channel: 'sms',
    capabilities: { idempotent: false, receipts: true, batchMax, parallel: batchMax, answersEach: true },
    start: async () => undefined,
    handOver: carrier.handOver(handOne),
    close: () => carrier.close(),
  };
}

function pathFor({ id, from, to, text = '' }: HandOver, url: URL, dlrUrl: string): string {
  const query = new URLSearchParams(url.search);
  if (url.username) query.set('username', decodeURIComponent(url.username));
  if (url.password) query.set('password', decodeURIComponent(url.password));
  query.set('from', from);
  query.set('to', to);
  query.set('text', text);
  query.set('charset', 'UTF-8');
  query.set('coding', measureSms(text).encoding === 'gsm7' ? '0' : '2');
  query.set('dlr-mask', String(DLR_MASK));
  // What stands after a percent sign Kannel fills in: the kind, the centre's words, the time.
  query.set('dlr-url', `${dlrUrl}?id=${encodeURIComponent(id)}&dlr=%d&answer=%A&time=%T`);
  return `${url.pathname}?${query}`;
}

const CLOSED_DOOR = new Set([401, 403, 404, 405]);

/** smsbox answers a status, and a number with words: 0 for accepted, 3 for queued until there is a way. */
function resultOf({ status, text }: HttpAnswer, messageId: string): HandOverResult {
  const code = `kannel_${status}`;
  if (status < 300) return { kind: 'accepted', providerId: messageId };
  if (status === 429) return { kind: 'throttled', retryAfterMs: 1_000 };
  if (status >= 500) return { kind: 'transient', code };
  // A redirect as well: the address of sendsms is wrong, and every message would end the same.
  if (status < 400 || CLOSED_DOOR.has(status)) {
    // It says so of an account, and of a message that has no way: only the words differ.
    if (/routable|denied by/i.test(text))
      return { kind: 'rejected', code, message: 'Kannel has no way for this number' };
    return { kind: 'account', code, message: 'Kannel refuses our account' };
  }
  return { kind: 'rejected', code, message: `Kannel answered ${status}` };
}
