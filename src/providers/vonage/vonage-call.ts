import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type { Receipt } from '../provider';
import type { CallFacts } from '../vendor/call-control';
import { type Callback, type CallbackAccount, type DocumentReading, header } from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';
import { RECORDED_PARAMETER } from './ncco';
import { isSignedByVonage, timeOf } from './vonage-signature';

type Body = Record<string, unknown>;

/** Calls have a conversation, and messages have none. */
export const isCallEvent = (body: Body): boolean =>
  body.uuid !== undefined || body.call_uuid !== undefined || body.conversation_uuid !== undefined;

/** An event of a call: its state, or who answered. */
export function readCallEvent(body: Body, messageId: string | undefined) {
  const providerId = wordIn(body.uuid) ?? wordIn(body.call_uuid);
  const ids = { id: messageId, providerId };
  const at = timeOf(body.timestamp);
  // Whatever it says of a call, the call was taken.
  const receipts: Receipt[] = [{ ...ids, type: 'sent', at }];
  if (body.status === 'ringing') receipts.push({ ...ids, type: 'ringing', at });
  if (body.status === 'answered') receipts.push({ ...ids, type: 'answered', at });
  const answeredBy = answeredByOf(body);
  const facts: CallFacts = { messageId, providerId, ...(answeredBy ? { answeredBy } : {}), end: endOf(body) };
  return { receipts, calls: [facts] };
}

function answeredByOf({ status, sub_state: sub }: Body): AnsweredBy | undefined {
  if (status === 'human') return 'human';
  if (status !== 'machine') return undefined;
  if (sub === 'beep_start') return 'machine_end_beep';
  return sub === 'beep_timeout' ? 'machine_end_silence' : 'machine_start';
}

const ENDS: Readonly<Record<string, Receipt['type']>> = {
  completed: 'completed',
  busy: 'busy',
  cancelled: 'canceled',
  unanswered: 'no_answer',
  timeout: 'no_answer',
  rejected: 'rejected',
  failed: 'failed',
};

function endOf(body: Body): CallFacts['end'] {
  const type = ENDS[String(body.status)];
  if (!type) return undefined;
  const seconds = Number(body.duration ?? Number.NaN);
  const price = wordIn(body.price);
  const data = {
    ...(type === 'completed' && seconds >= 0 ? { durationMs: seconds * 1_000 } : {}),
    ...(price ? { price: { amount: price } } : {}),
  };
  const detail = wordIn(body.detail, 40);
  return {
    type,
    code: type === 'no_answer' ? 'ring_timeout' : type === 'completed' ? undefined : detail,
    at: timeOf(body.timestamp),
    data: Object.keys(data).length === 0 ? undefined : data,
  };
}

/** A request for the next document: without a signature it is answered, because only the call knows the address. */
export function readVonageDocument(callback: Callback, account: CallbackAccount): DocumentReading {
  const authorization = header(callback, 'authorization');
  if (authorization !== undefined && !isSignedByVonage(authorization, callback, account)) {
    return { kind: 'refused' };
  }
  const body = objectIn(callback.body.toString('utf8')) ?? {};
  const providerId = wordIn(body.uuid) ?? callback.query.get('uuid') ?? undefined;
  const entered = body.dtmf;
  const isRecorded = callback.query.has(RECORDED_PARAMETER);
  const facts: CallFacts = {
    providerId,
    ...(typeof entered === 'object' && entered !== null
      ? { digits: wordIn((entered as Body).digits) ?? '' }
      : {}),
    ...(isRecorded ? { recording: recordingOf(body) } : {}),
  };
  return { kind: 'read', facts, isUnread: isRecorded };
}

function recordingOf(body: Body): CallFacts['recording'] {
  const reference = wordIn(body.recording_uuid) ?? wordIn(body.recording_url);
  if (reference === undefined) return undefined;
  const durationMs = Date.parse(String(body.end_time)) - Date.parse(String(body.start_time));
  return { reference, durationMs: Math.max(durationMs || 0, 0) };
}
