import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type { InboundSms, Receipt } from '../provider';
import type { CallFacts } from '../vendor/call-control';
import { errorClass } from '../vendor/error-class';
import {
  type Callback,
  type CallbackAccount,
  type CallbackReading,
  type DocumentReading,
  header,
  MESSAGE_PARAMETER,
} from '../vendor/vendor';
import { TWILIO_URL } from './twilio-client';
import { isForm, isSignedByTwilio } from './twilio-signature';

/** What Twilio calls us with at one address: the status of messages and calls, who answered, and what subscribers write. */
export function readTwilioCallback(callback: Callback, account: CallbackAccount): CallbackReading {
  const fields = fieldsOf(callback);
  if (!isGenuine(callback, account, fields)) return { kind: 'refused' };
  const messageId = callback.query.get(MESSAGE_PARAMETER) ?? undefined;
  const read = { kind: 'read' as const, receipts: [], inbound: [], calls: [], reply: EMPTY };
  if (fields.has('CallSid')) return { ...read, ...callReport(fields, messageId) };
  const status = fields.get('MessageStatus') ?? fields.get('SmsStatus') ?? '';
  const receipt = receiptOf(status, fields, messageId);
  if (receipt) return { ...read, receipts: [receipt] };
  const sms = inboundOf(fields);
  return sms ? { ...read, inbound: [sms] } : read;
}

/** A request for a voice document: without a signature it is answered, because only the call knows the address. */
export function readTwilioDocument(callback: Callback, account: CallbackAccount): DocumentReading {
  const fields = fieldsOf(callback);
  const isSigned = SIGNATURES.some((name) => header(callback, name) !== undefined);
  if (isSigned && !isGenuine(callback, account, fields)) return { kind: 'refused' };
  return { kind: 'read', facts: factsOf(fields, undefined) };
}

const SIGNATURES = ['x-twilio-signature', 'x-signalwire-signature'];
const EMPTY = { type: 'text/xml; charset=utf-8', body: '<?xml version="1.0" encoding="UTF-8"?><Response/>' };

function isGenuine(
  callback: Callback,
  { settings, secrets }: CallbackAccount,
  fields: URLSearchParams,
): boolean {
  const tokens = secrets.flatMap(({ authToken }) => (authToken ? [authToken] : []));
  const isTwilio = (settings.url ?? TWILIO_URL) === TWILIO_URL;
  if (!isSignedByTwilio(callback, tokens, isTwilio)) return false;
  // A subaccount's own callbacks are signed with its own token; this catches a token that two accounts share.
  const sid = fields.get('AccountSid');
  return sid === null || sid === settings.accountSid;
}

const fieldsOf = (callback: Callback): URLSearchParams =>
  callback.method === 'GET' || !isForm(callback)
    ? callback.query
    : new URLSearchParams(callback.body.toString('utf8'));

const STATES: Readonly<Record<string, Receipt['type']>> = {
  accepted: 'sent',
  scheduled: 'sent',
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'undelivered',
  failed: 'failed',
  canceled: 'canceled',
};

function receiptOf(status: string, fields: URLSearchParams, id: string | undefined): Receipt | undefined {
  const known = STATES[status.toLowerCase()];
  const providerId = fields.get('MessageSid') ?? fields.get('SmsSid') ?? undefined;
  if (!known || (id === undefined && providerId === undefined)) return undefined;
  const code = codeOf(fields);
  const isLate = code !== undefined && errorClass('twilio', code) === 'expired';
  const isEnd = known === 'undelivered' || known === 'failed';
  return { id, providerId, type: isEnd && isLate ? 'expired' : known, code, data: billed(fields) };
}

const codeOf = (fields: URLSearchParams): string | undefined => {
  const code = fields.get('ErrorCode');
  return code === null || code === '' || code === '0' ? undefined : code;
};

/** What the carrier counted, and by which sender of a Messaging Service it went. */
function billed(fields: URLSearchParams): Record<string, unknown> | undefined {
  const segments = Number(fields.get('NumSegments') ?? '');
  const amount = fields.get('Price') ?? fields.get('MessagePrice');
  const currency = fields.get('PriceUnit');
  const data = {
    ...(Number.isInteger(segments) && segments > 0 ? { segments } : {}),
    ...(amount ? { price: { amount, ...(currency ? { currency } : {}) } } : {}),
    ...(fields.get('MessagingServiceSid') && fields.get('From') ? { from: fields.get('From') } : {}),
  };
  return Object.keys(data).length === 0 ? undefined : data;
}

function inboundOf(fields: URLSearchParams): InboundSms | undefined {
  const [id, from, to] = [
    fields.get('MessageSid') ?? fields.get('SmsSid'),
    fields.get('From'),
    fields.get('To'),
  ];
  if (!id || !from || !to) return undefined;
  return { id, from, to, text: fields.get('Body') ?? '', handledAs: HANDLED[fields.get('OptOutType') ?? ''] };
}

const HANDLED: Readonly<Record<string, InboundSms['handledAs']>> = {
  STOP: 'stop',
  START: 'start',
  HELP: 'help',
};

function callReport(fields: URLSearchParams, messageId: string | undefined) {
  const providerId = fields.get('CallSid') ?? undefined;
  const status = (fields.get('CallStatus') ?? '').toLowerCase();
  const ids = { id: messageId, providerId };
  const at = timeOf(fields);
  const receipts: Receipt[] = [];
  // Every callback about a call also proves that Twilio has taken the call.
  receipts.push({ ...ids, type: 'sent', at });
  if (status === 'ringing') receipts.push({ ...ids, type: 'ringing', at });
  if (status === 'in-progress' || status === 'answered') receipts.push({ ...ids, type: 'answered', at });
  return { receipts, calls: [factsOf(fields, messageId)] };
}

function factsOf(fields: URLSearchParams, messageId: string | undefined): CallFacts {
  const answeredBy = ANSWERED_BY[fields.get('AnsweredBy') ?? ''];
  const recording = fields.get('RecordingSid') ?? fields.get('RecordingUrl');
  return {
    messageId,
    providerId: fields.get('CallSid') ?? undefined,
    ...(answeredBy ? { answeredBy } : {}),
    ...(fields.has('Digits') ? { digits: fields.get('Digits') ?? '' } : {}),
    ...(recording
      ? {
          recording: {
            reference: recording,
            durationMs: Math.max(0, Number(fields.get('RecordingDuration') ?? 0)) * 1_000 || 0,
          },
        }
      : {}),
    end: endOf(fields),
  };
}

const ANSWERED_BY: Readonly<Record<string, AnsweredBy>> = {
  human: 'human',
  machine_start: 'machine_start',
  machine_end_beep: 'machine_end_beep',
  machine_end_silence: 'machine_end_silence',
  machine_end_other: 'machine_end_silence',
  fax: 'fax',
  unknown: 'unknown',
};

const ENDS: Readonly<Record<string, Receipt['type']>> = {
  completed: 'completed',
  busy: 'busy',
  'no-answer': 'no_answer',
  failed: 'failed',
  canceled: 'canceled',
};
/** Callees who decline: RFC 3261 (603), RFC 8197 (607), RFC 8688 (608). */
const DECLINED: ReadonlySet<string> = new Set(['603', '607', '608']);

function endOf(fields: URLSearchParams): CallFacts['end'] {
  const known = ENDS[(fields.get('CallStatus') ?? '').toLowerCase()];
  if (!known) return undefined;
  const sip = fields.get('SipResponseCode') ?? '';
  const type = DECLINED.has(sip) && known !== 'completed' && known !== 'canceled' ? 'rejected' : known;
  const seconds = Number(fields.get('CallDuration') ?? Number.NaN);
  const code = codeOf(fields) ?? (known === 'failed' && sip !== '' ? `sip_${sip}` : undefined);
  return {
    type,
    code: code ?? (type === 'no_answer' ? 'ring_timeout' : undefined),
    at: timeOf(fields),
    data: known === 'completed' && seconds >= 0 ? { durationMs: seconds * 1_000 } : undefined,
  };
}

/** The event's time, in the form of RFC 2822. Only callbacks about calls have it. */
function timeOf(fields: URLSearchParams): string | undefined {
  const ms = Date.parse(fields.get('Timestamp') ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
