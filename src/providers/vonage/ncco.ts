import { KEYS_MAX } from '../../domain/voice/call-gather';
import type { Instruction } from '../../domain/voice/call-script';
import type { XmlElement } from '../../domain/voice/xml-tree';
import { chunksOf } from '../vendor/text-chunks';
import type { CallbackReply } from '../vendor/vendor';

/** What Vonage takes. */
const TALK_CHARS = 1_500;
const DIGITS_MAX = 20;
const INPUT_SECONDS = { min: 1, max: 10 };
const SILENCE_SECONDS = { min: 3, max: 10 };
const RECORD_SECONDS = { min: 3, max: 7_200 };
const WAIT_SECONDS = { min: 1, max: 7_200 };

/** The end of a recording is reported while the call waits, and the answer to it is not read: the call has to be led on. */
export const RECORDED_PARAMETER = 'recorded';

type Action = Record<string, unknown>;

/** One step of a call in Vonage's language (NCCO). Its end hangs up. */
export function writeNcco(instructions: readonly Instruction[], next: string): CallbackReply {
  const body = JSON.stringify(instructions.flatMap((one) => write(one, next, false)));
  return { type: 'application/json; charset=utf-8', body };
}

function write(instruction: Instruction, next: string, bargeIn: boolean): Action[] {
  const stop = bargeIn ? { bargeIn } : {};
  // The answer to it replaces what is left of this document.
  const goOn: Action = { action: 'notify', payload: { step: 'done' }, eventUrl: [next], eventMethod: 'POST' };
  switch (instruction.do) {
    case 'speak': {
      const { text, language } = instruction;
      return chunksOf(text, TALK_CHARS).map((part) => ({
        ...{ action: 'talk', text: part, ...(language ? { language } : {}), ...stop },
      }));
    }
    case 'play':
      return [{ action: 'stream', streamUrl: [instruction.url], ...stop }];
    case 'send':
      // Refused where the document has it; one that is fetched later goes on without.
      return [];
    case 'pause':
      return [{ action: 'wait', timeout: seconds(instruction.maxMs, WAIT_SECONDS) }];
    case 'gather': {
      const { prompts, numDigits, finishOnKey, timeoutMs } = instruction;
      const dtmf = {
        maxDigits: Math.min(numDigits >= KEYS_MAX ? DIGITS_MAX : numDigits, DIGITS_MAX),
        timeOut: seconds(timeoutMs, INPUT_SECONDS),
        submitOnHash: finishOnKey === '#',
      };
      const input = { action: 'input', type: ['dtmf'], dtmf, eventUrl: [next], eventMethod: 'POST' };
      return [...prompts.flatMap((prompt) => write(prompt, next, true)), input];
    }
    case 'record': {
      const { silenceMs, finishOnKey, beep, maxMs } = instruction;
      const recorded = `${next}?${RECORDED_PARAMETER}=1`;
      const [endOnKey] = finishOnKey;
      return [
        {
          ...{ action: 'record', eventUrl: [recorded], eventMethod: 'POST', beepStart: beep },
          timeOut: seconds(maxMs, RECORD_SECONDS),
          ...(silenceMs > 0 ? { endOnSilence: seconds(silenceMs, SILENCE_SECONDS) } : {}),
          ...(endOnKey ? { endOnKey } : {}),
        },
        // It records while the document goes on.
        { action: 'wait', timeout: seconds(maxMs, WAIT_SECONDS) },
        goOn,
      ];
    }
    case 'connect':
      return [connect(instruction.element, next), goOn];
    case 'go_on':
      return [goOn];
    case 'hang_up':
      return [];
  }
}

function connect({ attributes, children }: XmlElement, next: string): Action {
  const value = (name: string) => attributes.find(([one]) => one === name)?.[1];
  const [number = ''] = children.map((child) => (typeof child === 'string' ? child : textOf(child)).trim());
  const timeout = Number(value('timeout') ?? 30);
  const caller = value('callerId');
  return {
    ...{ action: 'connect', endpoint: [{ type: 'phone', number: bare(number) }] },
    ...(caller ? { from: bare(caller) } : {}),
    // Otherwise Vonage reports the other party's events at the address of the callee's, whose call would be busy or over
    // with the other's. At this one they are no step's end, and the document that answers them is not read.
    ...{ eventUrl: [next.replace(/[^/]*$/, 'again')], eventMethod: 'POST' },
    ...(Number.isInteger(timeout) && timeout > 0 ? { timeout } : {}),
  };
}

const textOf = ({ children }: XmlElement): string =>
  children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');

/** Numbers have no plus at Vonage; names stay. */
export const bare = (address: string) => address.replace(/^\+/, '');

const seconds = (ms: number, { min, max }: { min: number; max: number }): number =>
  Math.min(max, Math.max(min, Math.ceil(ms / 1_000)));
