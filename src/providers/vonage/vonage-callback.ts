import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import type { InboundSms, Receipt } from '../provider';
import { errorClass } from '../vendor/error-class';
import {
  type Callback,
  type CallbackAccount,
  type CallbackReading,
  header,
  MESSAGE_PARAMETER,
} from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';

/** What Vonage calls us with: the status of messages, and what subscribers write. */
export function readVonageCallback(callback: Callback, account: CallbackAccount): CallbackReading {
  const authorization = header(callback, 'authorization');
  // After a fault of its own Vonage may leave the signature out, and sends a signed one when it is refused.
  if (authorization === undefined) return { kind: 'unsigned' };
  if (!isSigned(authorization, callback, account)) return { kind: 'refused' };
  const body = objectIn(callback.body.toString('utf8')) ?? {};
  const read = { kind: 'read' as const, receipts: [], inbound: [], calls: [], reply: TAKEN };
  if (body.status !== undefined) {
    const receipt = receiptOf(body, callback.query.get(MESSAGE_PARAMETER) ?? undefined);
    return receipt ? { ...read, receipts: [receipt] } : read;
  }
  const sms = inboundOf(body);
  return sms ? { ...read, inbound: [sms] } : read;
}

const TAKEN = { type: 'application/json; charset=utf-8', body: '{}' };

/** A JWT by the signature secret (HS256) that covers the body by its hash. */
function isSigned(
  authorization: string,
  callback: Callback,
  { settings, secrets }: CallbackAccount,
): boolean {
  const [, head = '', payload = '', signature = ''] =
    /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(authorization) ?? [];
  const given = Buffer.from(signature, 'base64url');
  const isOurs = secrets.some(({ signatureSecret }) => {
    if (!signatureSecret) return false;
    const expected = createHmac('sha256', signatureSecret).update(`${head}.${payload}`).digest();
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isOurs || partOf(head)?.alg !== 'HS256') return false;
  const claims = partOf(payload);
  if (claims?.iss !== 'Vonage') return false;
  const { application_id: application, iat } = claims;
  if (application !== undefined && application !== settings.applicationId) return false;
  if (typeof iat !== 'number' || Math.abs(Date.now() / 1_000 - iat) > LIMITS.callbackAgeSeconds) return false;
  return claims.payload_hash === createHash('sha256').update(callback.body).digest('hex');
}

const partOf = (part: string) => objectIn(Buffer.from(part, 'base64url').toString('utf8'));

const STATES: Readonly<Record<string, Receipt['type']>> = {
  submitted: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  rejected: 'undelivered',
  undeliverable: 'failed',
};

function receiptOf(body: Record<string, unknown>, named: string | undefined): Receipt | undefined {
  const known = STATES[String(body.status)];
  const id = named ?? wordIn(body.client_ref, 64);
  const providerId = wordIn(body.message_uuid);
  if (!known || (id === undefined && providerId === undefined)) return undefined;
  const error = objectAt(body.error);
  const code = /#([\w-]{1,40})$/.exec(wordIn(error.type) ?? '')?.[1] ?? wordIn(error.title, 40);
  const isLate = code !== undefined && errorClass('vonage', code) === 'expired';
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

function timeOf(value: unknown): string | undefined {
  const ms = Date.parse(wordIn(value) ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
