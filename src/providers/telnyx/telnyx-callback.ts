import { createPublicKey, verify } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import type { InboundSms, Receipt } from '../provider';
import { errorClass } from '../vendor/error-class';
import { provenMessage } from '../vendor/message-address';
import { type Callback, type CallbackAccount, type CallbackReading, header } from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';
import { isCallEvent, readCallEvent } from './telnyx-call';
import { objectAt, saysOptedOut } from './telnyx-client';

/** What Telnyx calls us with: the status of messages, what subscribers write, and what happens in calls. */
export function readTelnyxCallback(callback: Callback, account: CallbackAccount): CallbackReading {
  const keys = account.secrets.map(({ publicKey }) => publicKey ?? account.settings.publicKey ?? '');
  if (!keys.some((key) => isSigned(callback, key))) return { kind: 'refused' };
  const event = objectAt(objectIn(callback.body.toString('utf8'))?.data);
  const payload = objectAt(event.payload);
  const at = wordIn(event.occurred_at, 40);
  const read = { kind: 'read' as const, receipts: [], inbound: [], calls: [], reply: TAKEN };
  const named = provenMessage(callback, account, 'apiKey');
  if (isCallEvent(event)) return { ...read, ...readCallEvent(event, named) };
  switch (event.event_type) {
    case 'message.sent':
    case 'message.finalized': {
      const receipt = receiptOf(payload, named, at);
      return receipt ? { ...read, receipts: [receipt] } : read;
    }
    case 'message.received': {
      const sms = inboundOf(payload, at);
      return sms ? { ...read, inbound: [sms] } : read;
    }
    default:
      return read;
  }
}

const TAKEN = { type: 'application/json; charset=utf-8', body: '{}' };
/** In front of the 32 bytes of an Ed25519 key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

function isSigned(callback: Callback, publicKey: string): boolean {
  const timestamp = header(callback, 'telnyx-timestamp') ?? '';
  const signature = header(callback, 'telnyx-signature-ed25519') ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > LIMITS.callbackAgeSeconds) return false;
  try {
    const der = Buffer.concat([SPKI, Buffer.from(publicKey, 'base64')]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    const data = Buffer.concat([Buffer.from(`${timestamp}|`), callback.body]);
    return verify(null, data, key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

const STATES: Readonly<Record<string, Receipt['type']>> = {
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  expired: 'expired',
  sending_failed: 'failed',
  delivery_failed: 'undelivered',
  // Final, and no proof of anything.
  delivery_unconfirmed: 'sent',
};

function receiptOf(
  payload: Record<string, unknown>,
  id: string | undefined,
  at: string | undefined,
): Receipt | undefined {
  const providerId = wordIn(payload.id);
  const known = STATES[String(objectAt(listAt(payload.to)[0]).status)];
  if (!known || (id === undefined && providerId === undefined)) return undefined;
  const error = objectAt(listAt(payload.errors)[0]);
  const code = saysOptedOut(error) ? 'opted_out' : wordIn(error.code, 40);
  const isLate = code !== undefined && errorClass('telnyx', code) === 'expired';
  const isEnd = known === 'undelivered' || known === 'failed';
  return { id, providerId, type: isEnd && isLate ? 'expired' : known, code, at, data: billed(payload) };
}

function billed(payload: Record<string, unknown>): Record<string, unknown> | undefined {
  const segments = Number(payload.parts);
  const { amount, currency } = objectAt(payload.cost);
  const price = wordIn(amount);
  const data = {
    ...(Number.isInteger(segments) && segments > 0 ? { segments } : {}),
    ...(price ? { price: { amount: price, ...(currency ? { currency: wordIn(currency) } : {}) } } : {}),
  };
  return Object.keys(data).length === 0 ? undefined : data;
}

function inboundOf(payload: Record<string, unknown>, at: string | undefined): InboundSms | undefined {
  const id = wordIn(payload.id);
  const from = wordIn(objectAt(payload.from).phone_number);
  const to = wordIn(objectAt(listAt(payload.to)[0]).phone_number);
  if (!id || !from || !to) return undefined;
  const text = typeof payload.text === 'string' ? payload.text : '';
  return {
    id,
    from,
    to,
    text,
    at,
    handledAs: HANDLED[String(payload.autoresponse_type ?? '').toUpperCase()],
  };
}

/** Telnyx's own answers to keywords, where the messaging profile has them. */
const HANDLED: Readonly<Record<string, InboundSms['handledAs']>> = {
  STOP: 'stop',
  START: 'start',
  HELP: 'help',
  INFO: 'help',
};

const listAt = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
