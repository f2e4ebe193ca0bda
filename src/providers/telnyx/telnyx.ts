import { LIMITS } from '../../domain/limits';
import { measureSms } from '../../domain/sms-encoding';
import type { HttpAnswer } from '../http-answer';
import type { HandOver, HandOverResult, Provider } from '../provider';
import { isName } from '../vendor/inabilities';
import { type JsonClient, openJsonClient } from '../vendor/json-client';
import { provenAddress } from '../vendor/message-address';
import type { Inability, Vendor, VendorAccount, VendorOptions, Wish } from '../vendor/vendor';
import { objectIn, resultOfAnswer, type VendorWord, wordIn } from '../vendor/vendor-answer';
import { readTelnyxCallback } from './telnyx-callback';

const TELNYX_URL = 'https://api.telnyx.com/v2';

export const TELNYX: Vendor = {
  kind: 'telnyx',
  channels: ['sms'],
  open: openTelnyxSms,
  check,
  unable: unableAtTelnyx,
  warnings: ({ settings }) =>
    settings.messagingProfileId
      ? []
      : [
          'Without a messaging profile, SMS leave only from numbers that are assigned to one, and not from names',
        ],
  readCallback: readTelnyxCallback,
};

function unableAtTelnyx({ channel, from }: Wish, settings: VendorAccount['settings']): Inability[] {
  if (channel === 'voice') {
    return settings.connectionId
      ? []
      : [{ about: 'account', message: 'Calls need the setting connectionId of the account' }];
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
  const client = clientOf(account, answerTimeoutMs);

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
    capabilities: {
      idempotent: false,
      receipts: true,
      batchMax: LIMITS.vendorConnections,
      parallel: LIMITS.vendorConnections,
      answersEach: true,
    },
    start: async () => undefined,
    handOver: client.handOver(handOne),
    close: () => client.close(),
  };
}

const clientOf = ({ settings, secrets }: VendorAccount, answerMs: number | undefined): JsonClient =>
  openJsonClient({
    base: settings.url ?? TELNYX_URL,
    authorization: () => `Bearer ${secrets.apiKey}`,
    answerMs,
  });

function readTelnyx({ status, text }: HttpAnswer): VendorWord {
  const body = objectIn(text);
  if (!body) return { kind: 'not_the_vendor' };
  if (status < 300) {
    const data = objectAt(body.data);
    const providerId = wordIn(data.id);
    if (providerId === undefined) return { kind: 'not_the_vendor' };
    const segments = Number(data.parts);
    return { kind: 'taken', providerId, data: segments > 0 ? { segments } : undefined };
  }
  const error = firstError(body);
  if (!error) return { kind: 'not_the_vendor' };
  return {
    kind: 'refused',
    code: wordIn(error.code, 40),
    message: wordIn(error.detail) ?? wordIn(error.title),
  };
}

const firstError = (body: Record<string, unknown>): Record<string, unknown> | undefined =>
  Array.isArray(body.errors) && body.errors.length > 0 ? objectAt(body.errors[0]) : undefined;

const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** 40300 is said of other things too, so that its words decide. */
function isOptOut({ status, text }: HttpAnswer): boolean {
  if (status < 400) return false;
  const error = firstError(objectIn(text) ?? {});
  return error?.code === '40300' && /\bSTOP\b|opt(ed)?[ -]?out/i.test(`${error.title} ${error.detail}`);
}

const OPTED_OUT: HandOverResult = {
  kind: 'rejected',
  code: 'opted_out',
  message: 'Telnyx blocks this sender for its subscriber (40300)',
};

/** Lists what costs nothing, and tells whether the key is known. */
async function check(account: VendorAccount): Promise<{ ok: boolean; detail: string }> {
  const client = clientOf(account, LIMITS.accountCheckMs);
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
