import { KEYS_MAX } from '../../domain/voice/call-gather';
import type { Instruction } from '../../domain/voice/call-script';
import type { XmlElement } from '../../domain/voice/xml-tree';
import type { CommandPlace } from '../vendor/call-control';
import { chunksOf } from '../vendor/text-chunks';
import type { CallCommands } from '../vendor/vendor';
import { voiceOf } from './telnyx-voices';

/** What Telnyx takes. */
const SPEAK_CHARS = 3_000;
const DIGITS_MAX = 128;
const TRANSFER_SECONDS = { min: 5, max: 600, usual: 30 };
/** A tone and the gap behind it; pauses have lengths of their own. */
const TONE_MS = 500;
const TONE_PAUSE_MS: Readonly<Record<string, number>> = { w: 500, W: 1_000 };

/** A document of a call in Telnyx's commands (Call Control). */
export const writeCommands = (instructions: readonly Instruction[]): CallCommands[] =>
  instructions.flatMap(commandsFor);

function commandsFor(instruction: Instruction): CallCommands[] {
  switch (instruction.do) {
    case 'speak':
      return chunksOf(instruction.text, SPEAK_CHARS).map((payload) =>
        one('speak', { payload, ...voiceOf(instruction) }, 'speech'),
      );
    case 'play':
      return [one('playback_start', { audio_url: instruction.url }, 'audio')];
    case 'send':
      // Telnyx does not say when the tones are over.
      return [
        {
          requests: [
            { action: 'send_dtmf', body: { digits: instruction.tones } },
            silence(lengthOf(instruction.tones)),
          ],
          ends: 'keys',
        },
      ];
    case 'pause':
      return [{ requests: [silence(instruction.maxMs)], ends: 'keys' }];
    case 'gather':
      return gather(instruction);
    case 'record': {
      const { silenceMs, finishOnKey, beep, maxMs } = instruction;
      const body = {
        ...{ format: 'mp3', channels: 'single', play_beep: beep, max_length: seconds(maxMs) },
        ...(silenceMs > 0 ? { timeout_secs: seconds(silenceMs) } : {}),
      };
      const stop = { keys: finishOnKey, requests: [{ action: 'record_stop', body: {} }] };
      return [{ ...one('record_start', body, 'recording'), stop }];
    }
    case 'connect':
      return [one('transfer', transfer(instruction.element), 'connection')];
    case 'go_on':
      return [{ requests: [], ends: 'at_once' }];
    case 'hang_up':
      return [one('hangup', {}, 'call')];
  }
}

const one = (action: string, body: Record<string, unknown>, ends: CallCommands['ends']): CallCommands => ({
  requests: [{ action, body }],
  ends,
});

/** A timer that Telnyx keeps: it waits for more keys than can be entered. A restart of ours does not lose it. */
const silence = (ms: number) => ({
  action: 'gather',
  body: {
    ...{ minimum_digits: DIGITS_MAX, maximum_digits: DIGITS_MAX, terminating_digit: '' },
    ...{ timeout_millis: ms, initial_timeout_millis: ms, inter_digit_timeout_millis: ms },
  },
});

/** Keys end the prompt only where it is one text or one recording; several are said before keys are waited for. */
function gather(instruction: Extract<Instruction, { do: 'gather' }>): CallCommands[] {
  const { prompts, numDigits, finishOnKey, timeoutMs } = instruction;
  const keys = {
    minimum_digits: 1,
    maximum_digits: numDigits >= KEYS_MAX ? DIGITS_MAX : numDigits,
    terminating_digit: finishOnKey,
    inter_digit_timeout_millis: timeoutMs,
  };
  const [first] = prompts;
  const texts = prompts.flatMap((prompt) => (prompt.do === 'speak' ? [prompt.text] : []));
  const text = texts.join(' ');
  if (first?.do === 'speak' && texts.length === prompts.length && text.length <= SPEAK_CHARS) {
    const body = { payload: text, ...voiceOf(first), ...keys, timeout_millis: timeoutMs, maximum_tries: 1 };
    return [one('gather_using_speak', body, 'keys')];
  }
  if (first?.do === 'play' && prompts.length === 1) {
    const body = { audio_url: first.url, ...keys, timeout_millis: timeoutMs, maximum_tries: 1 };
    return [one('gather_using_audio', body, 'keys')];
  }
  const whole = timeoutMs * Math.min(keys.maximum_digits, KEYS_MAX);
  const body = { ...keys, initial_timeout_millis: timeoutMs, timeout_millis: whole };
  return [...prompts.flatMap(commandsFor), one('gather', body, 'keys')];
}

function transfer({ attributes, children }: XmlElement): Record<string, unknown> {
  const value = (name: string) => attributes.find(([own]) => own === name)?.[1];
  const [to = ''] = children.map((child) => (typeof child === 'string' ? child : textOf(child)).trim());
  const { min, max, usual } = TRANSFER_SECONDS;
  const timeout = Number(value('timeout') ?? usual);
  const from = value('callerId');
  return {
    ...{ to, park_after_unbridge: 'self' },
    timeout_secs: Math.min(max, Math.max(min, Math.ceil(timeout) || usual)),
    ...(from ? { from } : {}),
  };
}

const textOf = ({ children }: XmlElement): string =>
  children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');

const lengthOf = (tones: string): number =>
  [...tones].reduce((sum, tone) => sum + (TONE_PAUSE_MS[tone] ?? TONE_MS), 0);

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

/** What each event of a command brings back to us. Some events do not name the call itself. */
export interface CommandState extends CommandPlace {
  callId: string;
  /** True when the event is about the party to whom the callee is connected. */
  isOther: boolean;
}

export const writeState = ({ step, index, callId, isOther }: CommandState): string =>
  Buffer.from(JSON.stringify([step, index, callId, ...(isOther ? [1] : [])])).toString('base64');

/** `undefined` for an event that follows no command of ours. */
export function readState(text: unknown): CommandState | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const state: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    if (!Array.isArray(state)) return undefined;
    const [step, index, callId, other] = state as unknown[];
    if (typeof step !== 'string' || typeof index !== 'number' || typeof callId !== 'string') return undefined;
    return { step, index, callId, isOther: other === 1 };
  } catch {
    return undefined;
  }
}
