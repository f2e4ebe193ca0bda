import type { InboundSms, Receipt } from '../provider';
import { errorClass } from '../vendor/error-class';
import { provenMessage } from '../vendor/message-address';
import { type Callback, type CallbackAccount, type CallbackReading, header } from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';
import { isCallEvent, readCallEvent } from './vonage-call';
import { isSignedByVonage, timeOf } from './vonage-signature';

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

const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
