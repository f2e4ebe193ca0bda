import { escapeXml } from '../../domain/template';
import { KEYS_MAX } from '../../domain/voice/call-gather';
import type { Instruction } from '../../domain/voice/call-script';
import { writeNode } from '../../domain/voice/write-voice-xml';
import type { CallbackReply } from '../vendor/vendor';

/** One step of a call in Twilio's language. Whatever the callee does, the next request comes to `next`. */
export function writeTwiml(instructions: readonly Instruction[], next: string): CallbackReply {
  const body = instructions.map((one) => write(one, next)).join('');
  return {
    type: 'text/xml; charset=utf-8',
    body: `<?xml version="1.0" encoding="UTF-8"?><Response>${body}</Response>`,
  };
}

type Attributes = Record<string, string | number | boolean | undefined>;

function write(instruction: Instruction, next: string): string {
  // Without an input Twilio goes on with the document: by the redirection, as after an input.
  const goOn = element('Redirect', { method: 'POST' }, escapeXml(next));
  const action = { action: next, method: 'POST' };
  switch (instruction.do) {
    case 'speak': {
      const { voice, language, text } = instruction;
      return element('Say', { voice, language }, escapeXml(text));
    }
    case 'play':
      return element('Play', {}, escapeXml(instruction.url));
    case 'send':
      return element('Play', { digits: instruction.tones });
    case 'pause':
      return element('Pause', { length: seconds(instruction.maxMs) });
    case 'gather': {
      const { prompts, numDigits, finishOnKey, timeoutMs } = instruction;
      const own = {
        input: 'dtmf',
        ...action,
        numDigits: numDigits >= KEYS_MAX ? undefined : numDigits,
        finishOnKey,
        timeout: seconds(timeoutMs),
      };
      return element('Gather', own, prompts.map((prompt) => write(prompt, next)).join('')) + goOn;
    }
    case 'record': {
      const { silenceMs, finishOnKey, beep, maxMs } = instruction;
      const maxLength = seconds(maxMs);
      const own = {
        ...action,
        timeout: silenceMs === 0 ? maxLength : seconds(silenceMs),
        maxLength,
        finishOnKey,
      };
      return element('Record', { ...own, playBeep: beep }) + goOn;
    }
    case 'connect': {
      const { attributes, children } = instruction.element;
      const own = { ...Object.fromEntries(attributes.filter(([name]) => name !== 'history')), ...action };
      return element('Dial', own, children.map(writeNode).join('')) + goOn;
    }
    case 'go_on':
      return goOn;
    case 'hang_up':
      return '<Hangup/>';
  }
}

function element(name: string, attributes: Attributes, inside = ''): string {
  const own = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('');
  return inside === '' ? `<${name}${own}/>` : `<${name}${own}>${inside}</${name}>`;
}

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));
