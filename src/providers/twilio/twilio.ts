import { longerThan } from '../vendor/inabilities';
import type { Vendor, VendorAccount } from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';
import { readTwilioCallback } from './twilio-callback';
import { openTwilioClient, readTwilio } from './twilio-client';
import { openTwilioSms, TEXT_CHARS } from './twilio-sms';
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

/** Reads the account, which costs nothing and tells whether it is known and in use. */
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
    return { ok: false, detail: `${answer.status} ${said}`.trim() };
  } finally {
    await client.close();
  }
}
