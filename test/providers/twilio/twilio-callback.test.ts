/** Proves which callbacks of Twilio are believed, by signatures that the vendor's own SDK makes, and what they are read as. */

import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks';
import type { InboundSms, Receipt } from '../../../src/providers/provider';
import { type FakeTwilio, startFakeTwilio } from '../../support/fake-twilio';
import { startInboundVendors } from './inbound-vendors';

describe('/inbound/twilio/{account}', () => {
  let fake: FakeTwilio;
  let receipts: Receipt[];
  let inbound: InboundSms[];
  let refused: unknown[];
  let closers: (() => Promise<void>)[];

  beforeEach(async () => {
    [receipts, inbound, refused, closers] = [[], [], [], []];
    fake = await startFakeTwilio();
  });
  afterEach(async () => {
    for (const close of closers) await close();
    await fake.close();
  });

  async function listen(
    more: { settings?: Record<string, string>; before?: Record<string, string>[]; publicUrl?: string } = {},
  ) {
    const { accountSid, authToken } = fake.account;
    const server = await startInboundVendors({
      account: { id: 'acc_1', settings: { accountSid, ...more.settings }, secrets: { authToken } },
      ...more,
      takeReceipts: async (some) => void receipts.push(...some),
      takeInbound: async (some) => void inbound.push(...some),
      sendersRefused: async (_, some) => void refused.push(...some),
    });
    closers.push(server.close);
    return server.url;
  }

  const status = (more: Record<string, string> = {}) => ({
    ...{ MessageSid: 'SM1', SmsSid: 'SM1', MessageStatus: 'delivered', SmsStatus: 'delivered' },
    ...{ To: '+12025550190', From: '+12125550100', AccountSid: fake.account.accountSid, ...more },
  });

  /** As it is on the wire: path and header are ours to choose. */
  function raw(
    url: string,
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: string },
  ) {
    return new Promise<number>((done, fail) => {
      const { port } = new URL(url);
      const { method = 'POST', headers = {}, body } = options;
      const outgoing = request(
        { host: '127.0.0.1', port, path, method, headers: { ...headers, connection: 'close' } },
        (response) => {
          response.resume().on('end', () => done(response.statusCode ?? 0));
        },
      );
      outgoing.on('error', fail).end(body);
    });
  }
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

  test('a signed status names our message, is answered in the vendor’s form, and tells what was billed', async () => {
    const url = `${await listen()}/inbound/twilio/acc_1?m=msg_1`;
    const reply = await fake.post(
      url,
      status({
        MessageStatus: 'undelivered',
        ErrorCode: '30003',
        MessagingServiceSid: 'MG1',
        NumSegments: '2',
        Price: '-0.0079',
        PriceUnit: 'USD',
      }),
    );
    expect([reply.status, reply.type, reply.text]).toEqual([
      200,
      'text/xml; charset=utf-8',
      '<?xml version="1.0" encoding="UTF-8"?><Response/>',
    ]);
    expect(receipts).toEqual([
      {
        ...{ id: 'msg_1', providerId: 'SM1', type: 'undelivered', code: '30003' },
        data: { segments: 2, price: { amount: '-0.0079', currency: 'USD' }, from: '+12125550100' },
      },
    ]);
  });

  test.each([
    ['queued', 'sent'],
    ['accepted', 'sent'],
    ['sending', 'sent'],
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['undelivered', 'undelivered'],
    ['failed', 'failed'],
    ['canceled', 'canceled'],
  ])('the status %s is %s', async (told, type) => {
    await fake.post(`${await listen()}/inbound/twilio/acc_1`, status({ MessageStatus: told }));
    expect(receipts.map((one) => one.type)).toEqual([type]);
  });

  test('what was in the queue too long has expired, and a status we do not know changes nothing', async () => {
    const url = `${await listen()}/inbound/twilio/acc_1`;
    await fake.post(url, status({ MessageStatus: 'failed', ErrorCode: '30036' }));
    expect(receipts[0]).toMatchObject({ type: 'expired', code: '30036' });
    expect((await fake.post(url, status({ MessageStatus: 'partially_delivered' }))).status).toBe(200);
    expect(receipts).toHaveLength(1);
  });

  test('what refuses the sender or the account after it was taken closes the sender', async () => {
    const url = `${await listen()}/inbound/twilio/acc_1?m=msg_1`;
    for (const ErrorCode of ['30003', '30034', '30002', '63038'])
      await fake.post(url, status({ MessageStatus: 'undelivered', ErrorCode }));
    expect(refused).toEqual(['30034', '30002'].map((code) => ({ id: 'msg_1', providerId: 'SM1', code })));
  });

  test('a forged, altered, unsigned or foreign one is refused', async () => {
    const base = await listen();
    const url = `${base}/inbound/twilio/acc_1?m=msg_1`;
    const fields = status();
    const signature = getExpectedTwilioSignature(fake.account.authToken, url, fields);
    const answers = [
      await fake.post(url, fields, { token: 'another' }),
      await fake.post(url, fields, { signature: 'none' }),
      await fake.post(url, fields, { signature: 'AAAA' }),
      await fake.post(url, { ...fields, MessageStatus: 'failed' }, { signature }),
      await fake.post(`${base}/inbound/twilio/acc_1?m=msg_2`, fields, { signature }),
      await fake.post(`${base}/inbound/twilio/acc_1`, fields, { signature }),
      await fake.post(url, status({ AccountSid: 'ACother' })),
      // Only services that are not Twilio have a header of another name.
      await fake.post(url, fields, { header: 'x-signalwire-signature' }),
    ];
    expect(answers.map((one) => one.status)).toEqual(answers.map(() => 403));
    expect((await fake.post(`${base}/inbound/twilio/acc_2`, fields)).status).toBe(404);
    expect((await fake.post(`${base}/inbound/pigeon/acc_1`, fields)).status).toBe(404);
    expect(receipts).toEqual([]);
  });

  test('the token before the last change still counts', async () => {
    const url = `${await listen({ before: [{ authToken: 'the old one' }] })}/inbound/twilio/acc_1`;
    expect((await fake.post(url, status(), { token: 'the old one' })).status).toBe(200);
    expect((await fake.post(url, status(), { token: 'an older one' })).status).toBe(403);
  });

  test('a service with the same API may sign under its own name', async () => {
    const url = `${await listen({ settings: { url: 'https://space.signalwire.example/api/laml' } })}/inbound/twilio/acc_1`;
    const told = await fake.post(url, status({ MessageSid: '8bfa7a3c-0000-4000-8000-000000000000' }), {
      header: 'x-signalwire-signature',
    });
    expect([told.status, receipts[0]?.providerId]).toEqual([200, '8bfa7a3c-0000-4000-8000-000000000000']);
  });

  test.each([
    'https://fanfare.example',
    'https://fanfare.example:443',
    'https://fanfare.example/prefix',
    'http://fanfare.example',
    'http://fanfare.example:8443',
    "https://fanfare.example/it's",
  ])('the address that was signed is %s, with and without its port', async (publicUrl) => {
    const url = await listen({ publicUrl });
    const path = "/inbound/twilio/acc_1?m=msg_1&note='%27%20x";
    for (const signed of new Set([
      publicUrl,
      publicUrl.replace(':443', ''),
      publicUrl.replace(/^(https:\/\/[^/:]+)(?=$|\/)/, '$1:443'),
    ])) {
      const signature = getExpectedTwilioSignature(fake.account.authToken, signed + path, status());
      const body = new URLSearchParams(status()).toString();
      expect(await raw(url, path, { headers: { ...FORM, 'x-twilio-signature': signature }, body })).toBe(200);
    }
  });

  test('repeated fields are signed once each and sorted, empty ones too', async () => {
    const url = await listen();
    const signature = getExpectedTwilioSignature(fake.account.authToken, `${url}/inbound/twilio/acc_1`, {
      ...status(),
      Tag: ['b', 'a', 'b'],
      Empty: '',
    });
    const body = `${new URLSearchParams(status())}&Tag=b&Empty=&Tag=a&Tag=b`;
    expect(
      await raw(url, '/inbound/twilio/acc_1', {
        headers: { ...FORM, 'x-twilio-signature': signature },
        body,
      }),
    ).toBe(200);
  });

  test('by GET the query is all that is signed', async () => {
    const url = await listen();
    const path = `/inbound/twilio/acc_1?${new URLSearchParams({ ...status(), m: 'msg_9' })}`;
    const signature = getExpectedTwilioSignature(fake.account.authToken, url + path, {});
    expect(await raw(url, path, { method: 'GET', headers: { 'x-twilio-signature': signature } })).toBe(200);
    expect(receipts).toMatchObject([{ id: 'msg_9', type: 'delivered' }]);
  });

  test('a body that is no form is believed by its hash in the address, and by nothing else', async () => {
    const url = await listen();
    const body = JSON.stringify({ MessageSid: 'SM1' });
    const hash = createHash('sha256').update(body).digest('hex');
    const sign = (path: string) => ({
      'content-type': 'application/json',
      'x-twilio-signature': getExpectedTwilioSignature(fake.account.authToken, url + path, {}),
    });
    const covered = `/inbound/twilio/acc_1?bodySHA256=${hash}`;
    expect(await raw(url, covered, { headers: sign(covered), body })).toBe(200);
    expect(await raw(url, covered, { headers: sign(covered), body: `${body} ` })).toBe(403);
    const bare = '/inbound/twilio/acc_1';
    expect(await raw(url, bare, { headers: sign(bare), body })).toBe(403);
  });

  test('what a subscriber writes is taken, with what the vendor made of it', async () => {
    const url = `${await listen()}/inbound/twilio/acc_1`;
    const sms = {
      MessageSid: 'SM7',
      SmsStatus: 'received',
      From: '+12025550190',
      To: '+12125550100',
      Body: 'Halt!',
      NumMedia: '0',
      NumSegments: '1',
      AccountSid: fake.account.accountSid,
    };
    await fake.post(url, sms);
    await fake.post(url, { ...sms, MessageSid: 'SM8', OptOutType: 'STOP' });
    expect(inbound).toEqual([
      { id: 'SM7', from: '+12025550190', to: '+12125550100', text: 'Halt!', handledAs: undefined },
      { id: 'SM8', from: '+12025550190', to: '+12125550100', text: 'Halt!', handledAs: 'stop' },
    ]);
    expect(receipts).toEqual([]);
  });
});
