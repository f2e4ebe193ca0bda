import { LIMITS } from '../domain/limits';
import { measureSms } from '../domain/sms-encoding';
import { type AnswerBody, resultOf } from './http-answer';
import { openHttpCarrier } from './http-carrier';
import type { HttpAnswer, MayBegin } from './http-exchange';
import type { HandOver, HandOverResult, Provider } from './provider';

export interface KannelProviderOptions {
  /**
   * URL of Kannel's sendsms. User and password stand before the host, or as parameters `username` and
   * `password`.
   */
  url: string;
  /** Where Kannel reports receipts; it has a secret in it. */
  dlrUrl(): string;
  answerTimeoutMs?: number | undefined;
}

/** Delivered, not delivered, refused by the centre: 1, 2 and 16. Reports in between are not requested. */
const DLR_MASK = 1 + 2 + 16;

/**
 * Hands messages to Kannel's smsbox, which cuts long texts and speaks with the centre. A message that smsbox
 * has taken it keeps; it does not know one that it is given again. Receipts come to
 * `/inbound/kannel/{secret}` (http/inbound-kannel.ts) and name messages by our ids.
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
    if ('status' in answer) {
      return resultOf(answer, bodyOf(answer), { messageId: message.id, prefix: 'kannel' });
    }
    if (answer.stayed) return { kind: 'stayed' };
    const { code, fault } = answer;
    return answer.offered ? { kind: 'unknown', fault } : { kind: 'transient', code, unreached: true, fault };
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

function pathFor({ id, from, to, text = '', expiresAt }: HandOver, url: URL, dlrUrl: string): string {
  const query = new URLSearchParams(url.search);
  if (url.username) query.set('username', decodeURIComponent(url.username));
  if (url.password) query.set('password', decodeURIComponent(url.password));
  query.set('from', from);
  query.set('to', to);
  query.set('text', text);
  query.set('charset', 'UTF-8');
  query.set('coding', measureSms(text).encoding === 'gsm7' ? '0' : '2');
  // In minutes. A part of one counts as a whole, because 0 would mean as long as the centre likes.
  if (expiresAt)
    query.set('validity', String(Math.max(1, Math.ceil((Date.parse(expiresAt) - Date.now()) / 60_000))));
  query.set('dlr-mask', String(DLR_MASK));
  // What stands after a percent sign Kannel fills in: the kind, the centre's words, the time.
  query.set('dlr-url', `${dlrUrl}?id=${encodeURIComponent(id)}&dlr=%d&answer=%A&time=%T`);
  return `${url.pathname}?${query}`;
}

/**
 * smsbox answers a status and words. It refuses an account and a message that has no way with the same status, so
 * that the words are its code: a message without a way is permanent, and says nothing about the others.
 */
function bodyOf({ status, text }: HttpAnswer): AnswerBody {
  if (status < 400 || status >= 500) return {};
  if (!/routable|denied by/i.test(text)) return {};
  return { code: `kannel_${status}`, message: 'Kannel has no way for this number' };
}
