import { LIMITS } from '../../domain/limits';
import { escapeXml } from '../../domain/template';
import { KEYS_MAX } from '../../domain/voice/call-gather';
import { CALL_DEFAULTS } from '../../domain/voice/call-options';
import type { Instruction } from '../../domain/voice/call-script';
import { writeNode } from '../../domain/voice/write-voice-xml';
import type { HandOver, Provider } from '../provider';
import { callingAccount } from '../vendor/call-control';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { placeCall } from '../vendor/place-call';
import { steered } from '../vendor/steered';
import type { CallbackReply, VendorAccount, VendorOptions, VendorVoice } from '../vendor/vendor';
import { resultOfAnswer } from '../vendor/vendor-answer';
import { readTwilioDocument } from './twilio-callback';
import { openTwilioClient, readTwilio } from './twilio-client';
import { foundIn } from './twilio-look-up';

/** Twilio reports only the end of a call, unless more events are requested. */
const EVENTS = ['initiated', 'ringing', 'answered', 'completed'] as const;

/**
 * Calls by Twilio's Calls API. The call is written down first, since Twilio asks for its document as soon as the callee
 * answers. Who answered is found out while the call speaks: silence until it is known would be heard by people.
 */
export function openTwilioVoice({ account, addresses, calls, answerTimeoutMs }: VendorOptions): Provider {
  if (!calls) throw new Error('Calls at Twilio need a place to be kept');
  const desk = calls;
  const client = openTwilioClient(account, answerTimeoutMs);
  const caller = callingAccount('twilio', account);

  const handOne = (message: HandOver, mayBegin: () => boolean) =>
    placeCall(desk, message, caller, async (path) => {
      const form = formFor(message, addresses.document(path), addresses.callback(message.id));
      return resultOfAnswer('twilio', await client.post('/Calls.json', form, mayBegin), readTwilio);
    });

  return {
    name: 'twilio',
    channel: 'voice',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    async lookUp(message) {
      const answer = await client.get('/Calls.json', { To: message.to, From: message.from, PageSize: '50' });
      return foundIn(answer, 'calls', message);
    },
    async withdraw(providerId) {
      // This changes nothing when the call was answered.
      await client.post(`/Calls/${encodeURIComponent(providerId)}.json`, [['Status', 'canceled']]);
    },
    close: () => client.close(),
  };
}

function formFor({ to, from, voice = {} }: HandOver, document: string, callback: string): [string, string][] {
  const machine = voice.machine ?? CALL_DEFAULTS.machine;
  return [
    ['To', to],
    ['From', from],
    ['Url', document],
    ['Method', 'POST'],
    // The same request again is the same document.
    ['FallbackUrl', document],
    ['FallbackMethod', 'POST'],
    ['StatusCallback', callback],
    ['StatusCallbackMethod', 'POST'],
    ...EVENTS.map((event): [string, string] => ['StatusCallbackEvent', event]),
    ['Timeout', String(voice.ringTimeoutSeconds ?? CALL_DEFAULTS.ringTimeoutSeconds)],
    ['TimeLimit', String(voice.maxSeconds ?? CALL_DEFAULTS.maxSeconds)],
    ['MachineDetection', machine === 'leave_message' ? 'DetectMessageEnd' : 'Enable'],
    ['AsyncAmd', 'true'],
    ['AsyncAmdStatusCallback', callback],
    ['AsyncAmdStatusCallbackMethod', 'POST'],
  ];
}

export const TWILIO_VOICE: VendorVoice = {
  readRequest: readTwilioDocument,
  write: writeTwiml,
  async steer(account: VendorAccount, providerId, to) {
    const client = openTwilioClient(account, LIMITS.callDocumentMs);
    const form: [string, string][] =
      'url' in to
        ? [
            ['Url', to.url],
            ['Method', 'POST'],
          ]
        : [['Status', 'completed']];
    try {
      await steered(() => client.post(`/Calls/${encodeURIComponent(providerId)}.json`, form));
    } finally {
      await client.close();
    }
  },
};

/** One step of a call in Twilio's language. Whatever the callee does, the next request comes to `next`. */
function writeTwiml(instructions: readonly Instruction[], next: string): CallbackReply {
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
