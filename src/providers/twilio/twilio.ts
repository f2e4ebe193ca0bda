import type { HandOver, HandOverResult, Provider } from '../provider';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { impossible, longerThan } from '../vendor/inabilities';
import type { Vendor, VendorAccount, VendorOptions } from '../vendor/vendor';
import { objectIn, resultOfAnswer, wordIn } from '../vendor/vendor-answer';
import { readTwilioCallback } from './twilio-callback';
import { openTwilioClient, readTwilio, TWILIO_URL } from './twilio-client';
import { foundIn } from './twilio-look-up';
import { openTwilioVoice, TWILIO_VOICE } from './twilio-voice';

/** Twilio, and services that speak its API. */
export const TWILIO: Vendor = {
  kind: 'twilio',
  channels: ['sms', 'voice'],
  open: (options) => (options.channel === 'voice' ? openTwilioVoice(options) : openTwilioSms(options)),
  check,
  unable: ({ channel, body }) => (channel === 'sms' ? longerThan(TEXT_CHARS, body) : []),
  warnings: ({ secrets }) =>
    secrets.authToken
      ? []
      : ['Without the auth token no signature can be checked: every callback is refused'],
  readCallback: readTwilioCallback,
  voice: TWILIO_VOICE,
};

/** Reads the account, which costs nothing, and finds out whether it exists and is active. */
async function check(account: VendorAccount): Promise<{ ok: boolean; detail: string }> {
  const client = openTwilioClient(account, undefined);
  try {
    const answer = await client.get('.json');
    if (!('status' in answer)) return { ok: false, detail: answer.code };
    if (answer.status === 200) {
      const status = wordIn(objectIn(answer.text)?.status) ?? 'active';
      return { ok: status === 'active', detail: `The account is ${status}` };
    }
    const word = readTwilio(answer);
    const said = word.kind === 'refused' ? [word.code, word.message].filter(Boolean).join(' ') : '';
    return {
      ok: false,
      detail: `${answer.status} ${said}`.trim() + (answer.status === 401 ? regionHint(account) : ''),
    };
  } finally {
    await client.close();
  }
}

/** A token or key of another region is refused like a wrong one. */
const regionHint = ({ settings: { url = TWILIO_URL } }: VendorAccount): string =>
  `; a token or key holds in one region alone, and ${new URL(url).host} was asked`;

const TEXT_CHARS = 1_600;
/** Twilio takes 1 to 36,000 s, and counts the time in its own queue only. */
const VALIDITY_MAX_S = 36_000;
/** In less time than this nothing is sent: the message ends here. */
const VALIDITY_MIN_S = 5;

/**
 * SMS by Twilio's Messages API, one request each. Status callbacks name our message in their address. Twilio does not
 * know a message that it is given again.
 */
export function openTwilioSms({ account, addresses, answerTimeoutMs }: VendorOptions): Provider {
  const client = openTwilioClient(account, answerTimeoutMs);
  const { messagingServiceSid } = account.settings;

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
    const refused = impossible(longerThan(TEXT_CHARS, message.text ?? ''));
    if (refused) return refused;
    const leftMs = message.expiresAt === undefined ? undefined : Date.parse(message.expiresAt) - Date.now();
    if (leftMs !== undefined && leftMs < VALIDITY_MIN_S * 1_000) {
      // Looked at again when its time is over, and then it expires.
      return { kind: 'throttled', retryAfterMs: Math.max(leftMs, 0) + 1, scope: 'message' };
    }
    const form = formFor(message, { leftMs, messagingServiceSid, callback: addresses.callback(message.id) });
    return resultOfAnswer('twilio', await client.post('/Messages.json', form, mayBegin), readTwilio);
  }

  return {
    name: 'twilio',
    channel: 'sms',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    async lookUp(message) {
      // A Messaging Service chooses the sender, so that it is not asked for. `DateSent` would leave out what is queued.
      const sender: Record<string, string> = messagingServiceSid ? {} : { From: message.from };
      const answer = await client.get('/Messages.json', { To: message.to, ...sender, PageSize: '50' });
      return foundIn(answer, 'messages', message);
    },
    close: () => client.close(),
  };
}

function formFor(
  { to, from, text = '' }: HandOver,
  more: { leftMs: number | undefined; messagingServiceSid: string | undefined; callback: string },
): [string, string][] {
  const form: [string, string][] = [
    ['To', to],
    ['From', from],
    ['Body', text],
    ['StatusCallback', more.callback],
  ];
  // With both, the service keeps its list of opt-outs, and the sender is the message's own.
  if (more.messagingServiceSid) form.push(['MessagingServiceSid', more.messagingServiceSid]);
  if (more.leftMs !== undefined) {
    form.push(['ValidityPeriod', String(Math.min(VALIDITY_MAX_S, Math.floor(more.leftMs / 1_000)))]);
  }
  return form;
}
