import { LIMITS } from '../../domain/limits';
import { measureSms } from '../../domain/sms-encoding';
import type { HttpAnswer } from '../http-exchange';
import type { HandOver, HandOverResult, Provider } from '../provider';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { isName } from '../vendor/inabilities';
import { provenAddress } from '../vendor/message-address';
import type { Inability, Vendor, VendorAccount, VendorOptions, Wish } from '../vendor/vendor';
import { objectIn, resultOfAnswer } from '../vendor/vendor-answer';
import { readTelnyxCallback } from './telnyx-callback';
import { firstError, openTelnyxClient, readTelnyx, saysOptedOut } from './telnyx-client';
import { openTelnyxVoice, TELNYX_COMMANDS } from './telnyx-voice';
import { unspokenAtTelnyx } from './telnyx-voices';

export const TELNYX: Vendor = {
  kind: 'telnyx',
  channels: ['sms', 'voice'],
  open: (options) => (options.channel === 'voice' ? openTelnyxVoice(options) : openTelnyxSms(options)),
  check,
  unable: unableAtTelnyx,
  warnings: ({ settings }) =>
    settings.messagingProfileId
      ? []
      : [
          'Without a messaging profile, SMS leave only from numbers that are assigned to one, and not from names',
        ],
  readCallback: readTelnyxCallback,
  commands: TELNYX_COMMANDS,
};

function unableAtTelnyx({ channel, from, body }: Wish, settings: VendorAccount['settings']): Inability[] {
  if (channel === 'voice') {
    const without = {
      about: 'account' as const,
      message: 'Calls need the setting connectionId of the account',
    };
    return [...(settings.connectionId ? [] : [without]), ...unspokenAtTelnyx(body)];
  }
  return settings.messagingProfileId || !isName(from)
    ? []
    : [
        {
          about: 'sender',
          message: 'A name as the sender needs the setting messagingProfileId of the account',
        },
      ];
}

/**
 * SMS by Telnyx's Messages API, one request each. Telnyx does not know a message that it is given again, and offers no list to
 * look one up in: a lost answer is resolved by the callback, whose address names our message.
 */
function openTelnyxSms({ account, addresses, answerTimeoutMs }: VendorOptions): Provider {
  const client = openTelnyxClient(account, answerTimeoutMs);

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
    const { to, from, text = '' } = message;
    const body = {
      ...{ to, from, text, type: 'SMS' },
      // With `auto` Telnyx may change characters, so that fewer segments are needed than were counted.
      encoding: measureSms(text).encoding,
      ...(account.settings.messagingProfileId
        ? { messaging_profile_id: account.settings.messagingProfileId }
        : {}),
      webhook_url: provenAddress(addresses.callback(message.id), message.id, account.secrets.apiKey),
      use_profile_webhooks: false,
    };
    const answer = await client.post('/messages', body, mayBegin);
    const result = resultOfAnswer('telnyx', answer, readTelnyx);
    return 'status' in answer && isOptOut(answer) ? OPTED_OUT : result;
  }

  return {
    name: 'telnyx',
    channel: 'sms',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    close: () => client.close(),
  };
}

const isOptOut = ({ status, text }: HttpAnswer): boolean =>
  status >= 400 && saysOptedOut(firstError(objectIn(text) ?? {}));

const OPTED_OUT: HandOverResult = {
  kind: 'rejected',
  code: 'opted_out',
  message: 'Telnyx blocks this sender for its subscriber (40300)',
};

/** Requests a list that costs nothing, and finds out whether the key is valid. */
async function check(account: VendorAccount): Promise<{ ok: boolean; detail: string }> {
  const client = openTelnyxClient(account, LIMITS.accountCheckMs);
  try {
    const answer = await client.get('/messaging_profiles?page[size]=1');
    if (!('status' in answer)) return { ok: false, detail: answer.code };
    if (answer.status === 200) return { ok: true, detail: 'The key is known' };
    const word = readTelnyx(answer);
    const said = word.kind === 'refused' ? [word.code, word.message].filter(Boolean).join(' ') : '';
    return { ok: false, detail: `${answer.status} ${said}`.trim() };
  } finally {
    await client.close();
  }
}
