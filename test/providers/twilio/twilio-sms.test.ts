/** Proves that SMS leave by Twilio's API to the letter, and that each answer means what Twilio's documents say. */

import twilio from 'twilio';
import type {
  HandOver,
  HandOverResult,
  InDoubt,
  Provider,
  ReceiptSink,
} from '../../../src/providers/provider';
import { openTwilioSms, TWILIO } from '../../../src/providers/twilio/twilio';
import type { VendorAccount } from '../../../src/providers/vendor/vendor';
import { type FakeAnswer, type FakeTwilio, startFakeTwilio, TO } from '../../support/fake-twilio';
import { providerConformance, type Rig } from '../conformance';
import { startInboundVendors } from './inbound-vendors';

const ANN = '+12025550190';

function accountAt(fake: FakeTwilio, settings: Record<string, string> = {}): VendorAccount {
  return {
    id: 'acc_1',
    settings: { accountSid: fake.account.accountSid, url: fake.url, ...settings },
    secrets: { authToken: fake.account.authToken },
  };
}

/** The provider and the route of its callbacks belong together. */
async function createRig(): Promise<Rig> {
  const fake = await startFakeTwilio({ delivers: true });
  const open = async (): Promise<Provider> => {
    const account = accountAt(fake);
    let publicUrl = 'http://127.0.0.1:9';
    let closeInbound: () => Promise<void> = async () => undefined;
    const provider = openTwilioSms({ channel: 'sms', account, addresses: addressesAt(() => publicUrl) });
    return {
      ...provider,
      async start(takeReceipts: ReceiptSink) {
        const inbound = await startInboundVendors({ account, takeReceipts });
        publicUrl = inbound.url;
        for (const { form } of fake.messages) {
          const id = new URL(form.get('StatusCallback') as string).searchParams.get('m') as string;
          form.set('StatusCallback', addressesAt(() => publicUrl).callback(id));
        }
        closeInbound = inbound.close;
      },
      async close() {
        await closeInbound();
        await provider.close();
      },
    };
  };
  const delivered = () =>
    fake.messages.map(
      ({ form }) => new URL(form.get('StatusCallback') as string).searchParams.get('m') as string,
    );
  return { open, delivered, close: () => fake.close() };
}

test('a check whose token is refused names the address, since the token may be of another region', async () => {
  const fake = await startFakeTwilio();
  try {
    const account = accountAt(fake);
    expect(await TWILIO.check(account)).toEqual({ ok: true, detail: 'The account is active' });
    const { ok, detail } = await TWILIO.check({ ...account, secrets: { authToken: 'of-another-region' } });
    expect([ok, detail]).toEqual([
      false,
      `401 20003 Authenticate; a token or key holds in one region alone, and ${new URL(fake.url).host} was asked`,
    ]);
  } finally {
    await fake.close();
  }
});

const addressesAt = (publicUrl: () => string) => ({
  callback: (id: string) => `${publicUrl()}/inbound/twilio/acc_1?m=${id}`,
  document: (path: string) => `${publicUrl()}/calls/${path}`,
});

providerConformance('SMS by Twilio', createRig, {
  channel: 'sms',
  addresses: {
    accepted: ANN,
    rejected: TO.invalid,
    transient: TO.down,
    throttled: TO.throttled,
    account: TO.refused,
    lost: TO.lost,
  },
});

describe('an SMS to Twilio', () => {
  let fake: FakeTwilio;
  let provider: Provider;
  beforeEach(async () => {
    fake = await startFakeTwilio({ prefix: '/api/laml' });
    provider = open();
  });
  afterEach(async () => {
    await provider.close();
    await fake.close();
  });

  const open = (settings: Record<string, string> = {}, secrets: Record<string, string> = {}): Provider => {
    const account = accountAt(fake, settings);
    return openTwilioSms({
      channel: 'sms',
      account: { ...account, secrets: { ...account.secrets, ...secrets } },
      addresses: addressesAt(() => 'https://fanfare.example/x'),
    });
  };
  const message = (more: Partial<HandOver> = {}): HandOver => ({
    ...{
      id: 'msg_1',
      uid: 'u1',
      channel: 'sms',
      to: ANN,
      from: '+12125550100',
      text: 'Grüße & 1+1',
      attempt: 1,
    },
    ...more,
  });
  const one = async (more: Partial<HandOver> = {}) =>
    (await provider.handOver([message(more)]))[0] as HandOverResult;

  test('is one form with the callback that names our message, below the prefix of the base address', async () => {
    expect(await one()).toEqual({
      kind: 'accepted',
      providerId: fake.messages[0]?.sid,
      data: { segments: 1 },
    });
    const [asked] = fake.requests;
    expect(asked?.path).toBe(`/api/laml/2010-04-01/Accounts/${fake.account.accountSid}/Messages.json`);
    expect(Object.fromEntries(asked?.form ?? [])).toEqual({
      To: ANN,
      From: '+12125550100',
      Body: 'Grüße & 1+1',
      StatusCallback: 'https://fanfare.example/x/inbound/twilio/acc_1?m=msg_1',
    });
  });

  test.each(['12345', 'SHOP'])('goes by the sender %s as it is', async (from) => {
    await one({ from });
    expect(fake.messages[0]?.form.get('From')).toBe(from);
  });

  test('names the Messaging Service beside the sender, and a key in place of the token', async () => {
    await provider.close();
    provider = open({ messagingServiceSid: 'MG1', apiKey: 'SKkey' }, { apiSecret: 'key-secret' });
    await one();
    const [asked] = fake.requests;
    expect([asked?.form.get('MessagingServiceSid'), asked?.form.get('From')]).toEqual([
      'MG1',
      '+12125550100',
    ]);
    expect(asked?.headers.authorization).toBe(`Basic ${Buffer.from('SKkey:key-secret').toString('base64')}`);
    expect(asked?.path).toContain(fake.account.accountSid);
  });

  test('hands on how long it may wait, at most ten hours, and keeps what has no time left', async () => {
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
    await one({ expiresAt: inSeconds(600.5) });
    await one({ expiresAt: inSeconds(100_000) });
    expect(fake.messages.map(({ form }) => form.get('ValidityPeriod'))).toEqual(['600', '36000']);
    expect(await one({ expiresAt: inSeconds(3) })).toMatchObject({ kind: 'throttled', scope: 'message' });
    expect(fake.messages).toHaveLength(2);
  });

  const twilioError = (status: number, code: number) => ({ status, body: { code, message: 'No', status } });
  test.each<[string, FakeAnswer, Partial<HandOverResult>]>([
    ['an opted-out recipient', twilioError(400, 21610), { kind: 'rejected', code: '21610' }],
    [
      'an unknown recipient, in the form of RFC 9457',
      { status: 404, body: { type: 't', title: 'No', status: 404, code: 21211, detail: 'Bad' } },
      { kind: 'rejected', code: '21211', message: 'Bad' },
    ],
    ['a full queue', twilioError(400, 21611), { kind: 'throttled' }],
    ['a sender that is not registered', twilioError(400, 30034), { kind: 'sender', code: '30034' }],
    ['a sender that is not ours', twilioError(400, 21606), { kind: 'sender', code: '21606' }],
    ['a sender that takes calls alone', twilioError(400, 21661), { kind: 'sender', code: '21661' }],
    ['a service without a sender', twilioError(400, 21704), { kind: 'sender', code: '21704' }],
    ['a service that is not there', twilioError(404, 21701), { kind: 'account', code: '21701' }],
    ['a service id that is none', twilioError(400, 21705), { kind: 'account', code: '21705' }],
    ['a caller that is not ours', twilioError(400, 21210), { kind: 'sender', code: '21210' }],
    ['an account that is not there', twilioError(404, 20404), { kind: 'account', code: '20404' }],
    ['a suspended account', twilioError(401, 20005), { kind: 'account' }],
    ['an unknown code of a wrong request', twilioError(400, 99999), { kind: 'rejected', code: '99999' }],
    ['503 in its own form', twilioError(503, 20503), { kind: 'transient', code: '20503' }],
    [
      '429 with a time',
      { ...twilioError(429, 20429), headers: { 'retry-after': '7' } },
      { kind: 'throttled', retryAfterMs: 7_000 },
    ],
    [
      '429 with none',
      { ...twilioError(429, 20429), headers: { 'retry-after': '0' } },
      { kind: 'throttled', retryAfterMs: 1_000 },
    ],
    ['the most messages of a day', twilioError(429, 63038), { kind: 'account', code: '63038' }],
    ['500 in its own form', twilioError(500, 20500), { kind: 'unknown' }],
    ['502 of a proxy', { status: 502, body: '<html>Bad gateway</html>' }, { kind: 'unknown' }],
    ['503 of a proxy', { status: 503, body: '<html>Unavailable</html>' }, { kind: 'unknown' }],
    ['200 of a portal', { status: 200, body: '<html>Sign in</html>' }, { kind: 'unknown' }],
    ['201 without an id', { status: 201, body: {} }, { kind: 'unknown' }],
    ['a lost answer', 'lost', { kind: 'unknown' }],
  ])('%s', async (_, answer, expected) => {
    fake.answerWith(answer);
    expect(await one()).toMatchObject(expected);
  });

  test('in doubt, is found by recipient, sender, text and time', async () => {
    const before = Date.now();
    fake.answerWith('lost');
    await one();
    await one({ text: 'Another' });
    const doubt: InDoubt = {
      ...{ id: 'msg_1', to: ANN, from: '+12125550100', text: 'Grüße & 1+1' },
      ...{ sinceMs: before, untilMs: Date.now() },
    };
    expect(await provider.lookUp?.(doubt)).toEqual({ kind: 'found', providerIds: [fake.messages[0]?.sid] });
    expect(fake.requests.at(-1)?.path).toContain('?To=%2B12025550190&From=%2B12125550100&PageSize=50');
    const later = { ...doubt, sinceMs: before + 60_000, untilMs: before + 90_000 };
    expect(await provider.lookUp?.(later)).toEqual({ kind: 'none' });
    fake.answerWith({ status: 503, body: 'x' });
  });

  test('the vendor’s own SDK sends to the stand-in and reads it', async () => {
    const { accountSid, authToken } = fake.account;
    const httpClient = {
      async request(options: {
        method: string;
        uri: string;
        data?: Record<string, string>;
        username?: string;
        password?: string;
      }) {
        const at = options.uri.replace('https://api.twilio.com', fake.url);
        const basic = Buffer.from(`${options.username}:${options.password}`).toString('base64');
        const response = await fetch(at, {
          method: options.method.toUpperCase(),
          headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
          ...(options.data ? { body: new URLSearchParams(options.data) } : {}),
        });
        return { statusCode: response.status, body: await response.json() };
      },
    };
    const client = twilio(accountSid, authToken, { httpClient: httpClient as never });
    const sent = await client.messages.create({ to: ANN, from: '+12125550100', body: 'By the SDK' });
    expect([sent.status, sent.numSegments]).toEqual(['queued', '1']);
    expect((await client.messages.list({ to: ANN, limit: 5 })).map(({ sid }) => sid)).toEqual([sent.sid]);
    await expect(client.messages.create({ to: TO.invalid, from: '+1', body: 'x' })).rejects.toMatchObject({
      code: 21211,
      status: 400,
    });
    const call = await client.calls.create({
      to: ANN,
      from: '+12125550100',
      url: 'https://x.example/calls/t',
    });
    expect([call.sid, call.status]).toEqual([fake.calls[0]?.sid, 'queued']);
  });
});
