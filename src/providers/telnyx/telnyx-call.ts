import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type { Receipt } from '../provider';
import type { CallEnding, CallFacts, CommandEnd } from '../vendor/call-control';
import { wordIn } from '../vendor/vendor-answer';
import { objectAt } from './telnyx-client';
import { type CommandState, readState } from './telnyx-commands';

type Event = Record<string, unknown>;

export const isCallEvent = ({ event_type: type }: Event): boolean => /^call\./.test(String(type));

/** An event of a call: its state, who answered, or the end of what was commanded. */
export function readCallEvent(
  event: Event,
  messageId: string | undefined,
): { receipts: Receipt[]; calls: CallFacts[] } {
  const payload = objectAt(event.payload);
  const type = String(event.event_type);
  const state = readState(payload.client_state);
  if (state?.isOther) return ofOtherParty(type, state, messageId);
  const at = wordIn(event.occurred_at, 40);
  const providerId = wordIn(payload.call_control_id) ?? state?.callId;
  const ids = { id: messageId, providerId };
  // Whatever it says of a call, the call was taken.
  const receipts: Receipt[] = [{ ...ids, type: 'sent', at }];
  const facts: CallFacts = { messageId, providerId };
  if (type === 'call.answered') {
    receipts.push({ ...ids, type: 'answered', at });
    return { receipts, calls: [{ ...facts, progress: { ended: 'answered' } }] };
  }
  if (type === 'call.hangup') return { receipts, calls: [{ ...facts, end: endOf(payload, at) }] };
  const answeredBy = answeredByOf(type, payload);
  if (answeredBy) return { receipts, calls: [{ ...facts, answeredBy }] };
  return { receipts, calls: [{ ...facts, ...progressOf(type, payload, state) }] };
}

/** Only the end of the other party's call matters here: the party that the callee was connected to. */
function ofOtherParty(type: string, { callId, ...place }: CommandState, messageId: string | undefined) {
  if (type !== 'call.hangup') return { receipts: [], calls: [] };
  const { step, index } = place;
  const progress = { ended: 'connection' as const, place: { step, index } };
  return { receipts: [], calls: [{ messageId, providerId: callId, progress }] };
}

const ENDED: Readonly<Record<string, CommandEnd>> = {
  'call.speak.ended': 'speech',
  'call.playback.ended': 'audio',
  'call.gather.ended': 'keys',
  'call.recording.saved': 'recording',
  'call.recording.error': 'recording',
};
/** Something else has begun, or the call is over. */
const INTERRUPTED: ReadonlySet<unknown> = new Set(['cancelled', 'call_hangup']);

function progressOf(type: string, payload: Event, state: CommandState | undefined): Partial<CallFacts> {
  if (type === 'call.dtmf.received' && state) {
    const { step, index } = state;
    return { progress: { pressed: wordIn(payload.digit, 1) ?? '', place: { step, index } } };
  }
  const ended = ENDED[type];
  if (!ended || !state || INTERRUPTED.has(payload.status)) return {};
  const { step, index } = state;
  return {
    progress: { ended, place: { step, index } },
    ...(ended === 'keys' ? { digits: typeof payload.digits === 'string' ? payload.digits : '' } : {}),
    ...(ended === 'recording' ? { recording: recordingOf(payload) } : {}),
  };
}

function recordingOf(payload: Event): CallFacts['recording'] {
  const urls = { ...objectAt(payload.public_recording_urls), ...objectAt(payload.recording_urls) };
  const reference = wordIn(payload.recording_id) ?? placeOf(wordIn(urls.mp3 ?? urls.wav, 2_000));
  if (reference === undefined) return undefined;
  const durationMs =
    Date.parse(String(payload.recording_ended_at)) - Date.parse(String(payload.recording_started_at));
  return { reference, durationMs: Math.max(durationMs || 0, 0) };
}

/** Without its query, which opens the file to anyone for some minutes. */
const placeOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).origin + new URL(url).pathname : undefined;

const ANSWERED_BY: Readonly<Record<string, AnsweredBy>> = {
  human: 'human',
  human_residence: 'human',
  human_business: 'human',
  machine: 'machine_start',
  silence: 'unknown',
  not_sure: 'unknown',
  fax_detected: 'fax',
};
const GREETING: Readonly<Record<string, AnsweredBy>> = {
  beep_detected: 'machine_end_beep',
  ended: 'machine_end_silence',
  no_beep_detected: 'machine_end_silence',
  not_sure: 'machine_end_silence',
};

function answeredByOf(type: string, { result }: Event): AnsweredBy | undefined {
  if (!type.startsWith('call.machine.')) return undefined;
  return (type.endsWith('greeting.ended') ? GREETING : ANSWERED_BY)[String(result)];
}

const ENDS: Readonly<Record<string, Receipt['type']>> = {
  normal_clearing: 'completed',
  time_limit: 'completed',
  user_busy: 'busy',
  timeout: 'no_answer',
  no_answer: 'no_answer',
  call_rejected: 'rejected',
  originator_cancel: 'canceled',
};

function endOf(payload: Event, at: string | undefined): CallEnding {
  const cause = wordIn(payload.hangup_cause, 40) ?? 'unspecified';
  const type = ENDS[cause] ?? 'failed';
  const sip = wordIn(payload.sip_hangup_cause, 10);
  const failed = cause === 'unspecified' && sip !== undefined ? `sip_${sip}` : cause;
  const code = type === 'no_answer' ? 'ring_timeout' : type === 'failed' ? failed : undefined;
  return { type, code, at, ...(type === 'completed' ? { onlyIfAnswered: true } : {}) };
}
