import { LIMITS } from '../../domain/limits';
import { measureSms } from '../../domain/sms-encoding';
import type { HandOver, HandOverResult, InboundSms, Provider, Receipt } from '../provider';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { errorClass } from '../vendor/error-class';
import { impossible, longerThan } from '../vendor/inabilities';
import { provenAddress, provenMessage } from '../vendor/message-address';
import {
  type Callback,
  type CallbackAccount,
  type CallbackReading,
  header,
  type Vendor,
  type VendorAccount,
  type VendorOptions,
} from '../vendor/vendor';
import { objectIn, resultOfAnswer, wordIn } from '../vendor/vendor-answer';
import { bare } from './ncco';
import { isCallEvent, readCallEvent } from './vonage-call';
import { openVonageClient, readVonage } from './vonage-client';
import { isSignedByVonage, timeOf } from './vonage-signature';
import { openVonageVoice, unableAtVonage, VONAGE_VOICE } from './vonage-voice';

const TEXT_CHARS = 1_000;
/** What Vonage takes for `ttl`, in seconds. */
const TTL = { min: 20, max: 604_800 };

export const VONAGE: Vendor = {
  kind: 'vonage',
  channels: ['sms', 'voice'],
  open: (options) => (options.channel === 'voice' ? openVonageVoice(options) : openVonageSms(options)),
  check,
  unable: ({ channel, body }) => (channel === 'voice' ? unableAtVonage(body) : longerThan(TEXT_CHARS, body)),
  warnings: () => [],
  readCallback: readVonageCallback,
  voice: VONAGE_VOICE,
};

/**
 * SMS by Vonage's Messages API, one request each. Vonage does not know a message that it is given again, and its reports of
 * single messages cost money: a lost answer is resolved by the callback, which names our message.
 */
function openVonageSms({ account, addresses, answerTimeoutMs }: VendorOptions): Provider {
  const client = openVonageClient(account, answerTimeoutMs);

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
    const refused = impossible(longerThan(TEXT_CHARS, message.text ?? ''));
    if (refused) return refused;
    const leftMs = message.expiresAt === undefined ? undefined : Date.parse(message.expiresAt) - Date.now();
    if (leftMs !== undefined && leftMs < TTL.min * 1_000) {
      // Looked at again when its time is over, and then it expires.
      return { kind: 'throttled', retryAfterMs: Math.max(leftMs, 0) + 1, scope: 'message' };
    }
    const { text = '' } = message;
    const body = {
      ...{ message_type: 'text', channel: 'sms', to: bare(message.to), from: bare(message.from), text },
      ...(leftMs === undefined ? {} : { ttl: Math.min(TTL.max, Math.floor(leftMs / 1_000)) }),
      sms: { encoding_type: measureSms(text).encoding === 'ucs2' ? 'unicode' : 'text' },
      client_ref: message.id,
      webhook_url: provenAddress(addresses.callback(message.id), message.id, account.secrets.signatureSecret),
      webhook_version: 'v1',
    };
    const answer = await client.post('/v1/messages', body, mayBegin);
    const result = resultOfAnswer('vonage', answer, readVonage);
    return result.kind === 'rejected' && OPT_OUTS.has(result.code)
      ? { ...result, code: 'opted_out' }
      : result;
  }

  return {
    name: 'vonage',
    channel: 'sms',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    close: () => client.close(),
  };
}

const OPT_OUTS: ReadonlySet<string> = new Set(['7', '1050']);

/**
 * Requests a list of calls for a moment without any: it costs nothing, and shows whether application and key
 * are known.
 */
async function check(account: VendorAccount): Promise<{ ok: boolean; detail: string }> {
  const client = openVonageClient(account, LIMITS.accountCheckMs);
  try {
    const answer = await client.get('/v1/calls?page_size=1');
    if (!('status' in answer)) return { ok: false, detail: answer.code };
    if (answer.status === 200) return { ok: true, detail: 'The application is known' };
    const word = readVonage(answer);
    const said = word.kind === 'refused' ? [word.code, word.message].filter(Boolean).join(' ') : '';
    return { ok: false, detail: `${answer.status} ${said}`.trim() };
  } finally {
    await client.close();
  }
}

/** What Vonage calls us with: the status of messages and calls, who answered, and what subscribers write. */
export function readVonageCallback(callback: Callback, account: CallbackAccount): CallbackReading {
  const authorization = header(callback, 'authorization');
  // After a fault of its own Vonage may leave the signature out, and sends a signed one when it is refused.
  if (authorization === undefined) return { kind: 'unsigned' };
  if (!isSignedByVonage(authorization, callback, account)) return { kind: 'refused' };
  const body = objectIn(callback.body.toString('utf8')) ?? {};
  const read = { kind: 'read' as const, receipts: [], inbound: [], calls: [], reply: TAKEN };
  const named = provenMessage(callback, account, 'signatureSecret');
  if (isCallEvent(body)) return { ...read, ...readCallEvent(body, named) };
  if (body.status !== undefined) {
    const receipt = receiptOf(body, named);
    return receipt ? { ...read, receipts: [receipt] } : read;
  }
  const sms = inboundOf(body);
  return sms ? { ...read, inbound: [sms] } : read;
}

const TAKEN = { type: 'application/json; charset=utf-8', body: '{}' };

const STATES: Readonly<Record<string, Receipt['type']>> = {
  submitted: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  rejected: 'undelivered',
  undeliverable: 'failed',
};

function receiptOf(body: Record<string, unknown>, named: string | undefined): Receipt | undefined {
  const known = STATES[String(body.status)];
  // The signature covers the reference.
  const id = wordIn(body.client_ref, 64) ?? named;
  const providerId = wordIn(body.message_uuid);
  if (!known || (id === undefined && providerId === undefined)) return undefined;
  const error = objectAt(body.error);
  const said = /#([\w-]{1,40})$/.exec(wordIn(error.type) ?? '')?.[1] ?? wordIn(error.title, 40);
  const isLate = said !== undefined && errorClass('vonage', said) === 'expired';
  // Vonage takes every message first, and reports a barred number afterwards.
  const code = said !== undefined && OPT_OUTS.has(said) ? 'opted_out' : said;
  const { price, currency } = objectAt(body.usage);
  const amount = wordIn(price);
  return {
    ...{ id, providerId, code, at: timeOf(body.timestamp) },
    type: isLate && known !== 'delivered' ? 'expired' : known,
    data: amount ? { price: { amount, ...(currency ? { currency: wordIn(currency) } : {}) } } : undefined,
  };
}

function inboundOf(body: Record<string, unknown>): InboundSms | undefined {
  const [id, from, to] = [wordIn(body.message_uuid), wordIn(body.from), wordIn(body.to)];
  if (!id || !from || !to || typeof body.text !== 'string') return undefined;
  return { id, from: withPlus(from), to: withPlus(to), text: body.text, at: timeOf(body.timestamp) };
}

/** Numbers come without their plus; short codes have at most eight digits, and names have letters. */
const withPlus = (address: string) => (/^\d{9,15}$/.test(address) ? `+${address}` : address);

const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
