import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import { measureSms } from '../../domain/sms-encoding';
import type { HttpAnswer } from '../http-answer';
import type { HandOver, HandOverResult, Provider } from '../provider';
import { type JsonClient, openJsonClient } from '../vendor/json-client';
import type { Vendor, VendorAccount, VendorOptions } from '../vendor/vendor';
import { objectIn, resultOfAnswer, type VendorWord, wordIn } from '../vendor/vendor-answer';
import { readVonageCallback } from './vonage-callback';

const VONAGE_URL = 'https://api.nexmo.com';
/** What Vonage takes for `ttl`, in seconds. */
const TTL = { min: 20, max: 604_800 };

export const VONAGE: Vendor = {
  kind: 'vonage',
  channels: ['sms'],
  open: openVonageSms,
  check,
  warnings: () => [],
  readCallback: readVonageCallback,
};

/**
 * SMS by Vonage's Messages API, one request each. Vonage does not know a message that it is given again, and its reports of
 * single messages cost money: a lost answer is resolved by the callback, which names our message.
 */
function openVonageSms({ account, addresses, answerTimeoutMs }: VendorOptions): Provider {
  const client = clientOf(account, answerTimeoutMs);

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
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
      webhook_url: addresses.callback(message.id),
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
    capabilities: {
      idempotent: false,
      receipts: true,
      batchMax: LIMITS.vendorConnections,
      parallel: LIMITS.vendorConnections,
      answersEach: true,
    },
    start: async () => undefined,
    handOver: client.handOver(handOne),
    close: () => client.close(),
  };
}

/** Numbers have no plus at Vonage; names stay. */
const bare = (address: string) => address.replace(/^\+/, '');

const OPT_OUTS: ReadonlySet<string> = new Set(['7', '1050']);

function readVonage({ status, text }: HttpAnswer): VendorWord {
  const body = objectIn(text);
  if (!body) return { kind: 'not_the_vendor' };
  if (status < 300) {
    const providerId = wordIn(body.message_uuid);
    return providerId === undefined ? { kind: 'not_the_vendor' } : { kind: 'taken', providerId };
  }
  const title = wordIn(body.title);
  if (title === undefined) return { kind: 'not_the_vendor' };
  // The address of the problem ends with the code: `…/messages#1120`.
  const code =
    /#([\w-]{1,40})$/.exec(wordIn(body.type) ?? '')?.[1] ?? (/^\d+$/.test(title) ? title : undefined);
  return { kind: 'refused', code, message: wordIn(body.detail) ?? title };
}

function clientOf(account: VendorAccount, answerMs: number | undefined): JsonClient {
  let token = { text: '', renewAtMs: 0 };
  return openJsonClient({
    base: account.settings.url ?? VONAGE_URL,
    authorization() {
      if (Date.now() >= token.renewAtMs) {
        token = { text: applicationToken(account), renewAtMs: Date.now() + (TOKEN_SECONDS / 2) * 1_000 };
      }
      return `Bearer ${token.text}`;
    },
    answerMs,
  });
}

const TOKEN_SECONDS = 900;

/** A JWT by which Vonage knows the application (RS256). */
function applicationToken({ settings, secrets }: VendorAccount): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ application_id: settings.applicationId, iat, exp: iat + TOKEN_SECONDS, jti: randomUUID() },
  };
  const data = [{ alg: 'RS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const key = createPrivateKey(secrets.privateKey ?? '');
  return `${data}.${sign('RSA-SHA256', Buffer.from(data), key).toString('base64url')}`;
}

/** Lists no calls of a moment: it costs nothing and tells whether application and key are known. */
async function check(account: VendorAccount): Promise<{ ok: boolean; detail: string }> {
  const client = clientOf(account, LIMITS.accountCheckMs);
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
