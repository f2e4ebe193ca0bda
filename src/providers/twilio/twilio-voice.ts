import { LIMITS } from '../../domain/limits';
import { CALL_DEFAULTS } from '../../domain/voice/call-options';
import type { HandOver, Provider } from '../provider';
import { callingAccount } from '../vendor/call-desk';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { placeCall } from '../vendor/place-call';
import type { VendorAccount, VendorOptions, VendorVoice } from '../vendor/vendor';
import { resultOfAnswer } from '../vendor/vendor-answer';
import { readTwilioDocument } from './twilio-callback';
import { openTwilioClient, readTwilio } from './twilio-client';
import { foundIn } from './twilio-look-up';
import { writeTwiml } from './twiml';

/** Twilio tells of the end only, unless it is asked for more. */
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
      // Of a call that is answered it changes nothing.
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
      await client.post(`/Calls/${encodeURIComponent(providerId)}.json`, form);
    } finally {
      await client.close();
    }
  },
};
