/** Proves that SMS leave by Telnyx and Vonage to the letter of their documents, and which callbacks of theirs are believed. */

import { verify } from 'jsonwebtoken';
import { TelnyxWebhook } from 'telnyx/lib/webhooks';
import type {
  HandOver,
  HandOverResult,
  InboundSms,
  Provider,
  Receipt,
} from '../../../src/providers/provider';
import { TELNYX } from '../../../src/providers/telnyx/telnyx';
import { provenAddress } from '../../../src/providers/vendor/message-address';
import type { Vendor, VendorAccount } from '../../../src/providers/vendor/vendor';
import { VONAGE } from '../../../src/providers/vonage/vonage';
import {
  type FakeJsonCarrier,
  type SignOptions,
  startFakeTelnyx,
  startFakeVonage,
  TO,
} from '../../support/fake-json-carrier';
import { until } from '../../support/until';
import { providerConformance, type Rig } from '../conformance';
import { startInboundVendors } from '../twilio/inbound-vendors';

const accountAt = ({ settings, secrets }: FakeJsonCarrier): VendorAccount => ({
  id: 'acc_1',
  settings,
  secrets,
});
const addressesAt = (vendor: Vendor, publicUrl: () => string) => ({
  callback: (id: string) => `${publicUrl()}/inbound/${vendor.kind}/acc_1?m=${id}`,
  document: (path: string) => `${publicUrl()}/calls/${path}`,
});
const idOf = (url: string | undefined) => new URL(url ?? '').searchParams.get('m') as string;

const NOW = () => Math.floor(Date.now() / 1_000);

describe.each([
  [TELNYX, startFakeTelnyx],
  [VONAGE, startFakeVonage],
])('%# SMS by', (vendor, startFake) => {
  providerConformance(
    `SMS by ${vendor.kind}`,
    async (): Promise<Rig> => {
      const fake = await startFake();
      return {
        async open() {
          const account = accountAt(fake);
          let publicUrl = 'http://127.0.0.1:9';
          let closeInbound: () => Promise<void> = async () => undefined;
          const addresses = addressesAt(vendor, () => publicUrl);
          const provider = vendor.open({ channel: 'sms', account, addresses });
          return {
            ...provider,
            async start(takeReceipts) {
              const inbound = await startInboundVendors({ account, takeReceipts });
              publicUrl = inbound.url;
              for (const { body } of fake.messages) {
                const { pathname, search } = new URL(body.webhook_url as string);
                body.webhook_url = publicUrl + pathname + search;
              }
              closeInbound = inbound.close;
            },
            async close() {
              await closeInbound();
              await provider.close();
            },
          };
        },
        delivered: () => fake.messages.map(({ body }) => idOf(body.webhook_url)),
        close: () => fake.close(),
      };
    },
    {
      channel: 'sms',
      addresses: {
        ...{ accepted: TO.accepted, rejected: TO.rejected, transient: TO.transient },
        ...{ throttled: TO.throttled, account: TO.account, lost: TO.lost },
      },
    },
  );

  describe(`an account at ${vendor.kind}`, () => {
    let fake: FakeJsonCarrier;
    let provider: Provider;
    let receipts: Receipt[];
    let inbound: InboundSms[];
    let route: Awaited<ReturnType<typeof startInboundVendors>>;
    beforeEach(async () => {
      [receipts, inbound] = [[], []];
      fake = await startFake();
      const account = accountAt(fake);
      route = await startInboundVendors({
        account,
        takeReceipts: async (some) => void receipts.push(...some),
        takeInbound: async (some) => void inbound.push(...some),
      });
      provider = vendor.open({ channel: 'sms', account, addresses: addressesAt(vendor, () => route.url) });
    });
    afterEach(async () => {
      await provider.close();
      await route.close();
      await fake.close();
    });

    const send = async (more: Partial<HandOver> = {}): Promise<HandOverResult> => {
      const message = {
        id: 'msg_1',
        uid: 'u1',
        channel: 'sms' as const,
        to: TO.accepted,
        from: '+12125550100',
      };
      const [result] = await provider.handOver([{ ...message, text: 'Hello', attempt: 1, ...more }]);
      return result as HandOverResult;
    };
    const tell = (event: unknown, options?: SignOptions) => fake.post(addressOf('msg_1'), event, options);
    const addressOf = (id: string) => {
      const secret = vendor === TELNYX ? fake.secrets.apiKey : fake.secrets.signatureSecret;
      return provenAddress(`${route.url}/inbound/${vendor.kind}/acc_1?m=${id}`, id, secret);
    };
    const ended = (status: string, code?: string) =>
      vendor === TELNYX
        ? {
            data: {
              event_type: 'message.finalized',
              payload: { id: 'p1', to: [{ status }], ...(code ? { errors: [{ code }] } : {}) },
            },
          }
        : {
            ...{ message_uuid: 'p1', client_ref: 'msg_1', status },
            ...(code ? { error: { type: `https://developer.vonage.com/api-errors/messages#${code}` } } : {}),
          };

    test('sends one request as the vendor documents it', async () => {
      expect(await send({ text: 'Hellö ✓', from: 'Bookshop' })).toMatchObject({ kind: 'accepted' });
      const [request] = fake.requests;
      const webhook_url = addressOf('msg_1');
      expect(request).toMatchObject({
        method: 'POST',
        path: vendor === TELNYX ? '/v2/messages' : '/v1/messages',
        headers: { 'content-type': 'application/json' },
      });
      expect(JSON.parse(request?.text ?? '')).toEqual(
        vendor === TELNYX
          ? {
              ...{ to: TO.accepted, from: 'Bookshop', text: 'Hellö ✓', type: 'SMS', encoding: 'ucs2' },
              ...{ webhook_url, use_profile_webhooks: false },
            }
          : {
              ...{
                message_type: 'text',
                channel: 'sms',
                to: '12025550190',
                from: 'Bookshop',
                text: 'Hellö ✓',
              },
              ...{
                sms: { encoding_type: 'unicode' },
                client_ref: 'msg_1',
                webhook_url,
                webhook_version: 'v1',
              },
            },
      );
      await until('the end is told', () => receipts.length > 0);
      expect(receipts).toMatchObject([{ id: 'msg_1', type: 'delivered' }]);
    });

    test('an opt-out at the vendor and a refused sender are told from other refusals', async () => {
      expect(await send({ to: TO.optedOut })).toMatchObject({ kind: 'rejected', code: 'opted_out' });
      expect(await send({ to: TO.sender })).toMatchObject({ kind: 'sender' });
      if (vendor === TELNYX) expect(await send({ to: TO.inactive })).toMatchObject({ kind: 'sender' });
      expect(await send({ to: TO.account })).toMatchObject({ kind: 'account' });
      if (vendor === TELNYX)
        expect(await send({ to: TO.spent })).toMatchObject({ kind: 'account', code: '40333' });
    });

    if (vendor === TELNYX)
      test('an opt-out that is reported after the message was taken is told from other blocks', async () => {
        const blocked = (detail: string) => ({
          data: {
            event_type: 'message.finalized',
            payload: {
              ...{ id: 'p1', to: [{ status: 'delivery_failed' }] },
              errors: [{ code: '40300', title: 'Blocked', detail }],
            },
          },
        });
        await tell(blocked('Blocked due to STOP message'));
        await tell(blocked("Invalid 'from' address"));
        expect(receipts.map(({ code }) => code)).toEqual(['opted_out', '40300']);
      });

    test('states are translated, and what came too late is expired', async () => {
      const told: [string, string | undefined, string][] =
        vendor === TELNYX
          ? [
              ['sent', undefined, 'sent'],
              ['delivery_unconfirmed', undefined, 'sent'],
              ['delivered', undefined, 'delivered'],
              ['sending_failed', '40001', 'failed'],
              ['delivery_failed', '40008', 'undelivered'],
              ['delivery_failed', '40005', 'expired'],
              ['expired', undefined, 'expired'],
            ]
          : [
              ['submitted', undefined, 'sent'],
              ['delivered', undefined, 'delivered'],
              ['rejected', '1040', 'undelivered'],
              ['undeliverable', '1100', 'failed'],
              ['rejected', '1050', 'undelivered'],
            ];
      for (const [status, code] of told) expect(await tell(ended(status, code))).toBe(200);
      expect(receipts.map(({ id, providerId, type, code }) => [id, providerId, type, code])).toEqual(
        told.map(([, code, type]) => ['msg_1', 'p1', type, code === '1050' ? 'opted_out' : code]),
      );
    });

    test('an SMS of a subscriber is taken, with its numbers in E.164', async () => {
      const [from, to] =
        vendor === TELNYX ? ['+12025550190', '+12125550100'] : ['12025550190', '12125550100'];
      await tell(
        vendor === TELNYX
          ? {
              data: {
                event_type: 'message.received',
                payload: {
                  ...{ id: 'i1', from: { phone_number: from }, to: [{ phone_number: to }] },
                  ...{ text: 'Stop', autoresponse_type: 'STOP' },
                },
              },
            }
          : { message_uuid: 'i1', from, to, channel: 'sms', message_type: 'text', text: 'Stop' },
      );
      expect(inbound).toMatchObject([{ id: 'i1', from: '+12025550190', to: '+12125550100', text: 'Stop' }]);
      if (vendor === TELNYX) expect(inbound[0]?.handledAs).toBe('stop');
    });

    test('a callback that is forged, altered, foreign or five minutes old is 403', async () => {
      const event = ended('delivered');
      const other = await startFake();
      expect(await tell(event, { at: NOW() - 310 })).toBe(403);
      expect(await tell(event, { at: NOW() + 310 })).toBe(403);
      expect(await tell(event, { signedText: '{}' })).toBe(403);
      if (vendor === VONAGE) {
        expect(await tell(event, { claims: { iss: 'Other' } })).toBe(403);
        expect(await tell(event, { claims: { application_id: 'other' } })).toBe(403);
        expect(await tell(event, { claims: { payload_hash: undefined } })).toBe(403);
        expect(await tell(event, { headers: { authorization: 'Bearer a.b.c' } })).toBe(403);
      } else {
        const url = `${route.url}/inbound/telnyx/acc_1?m=msg_1`;
        expect(await other.post(url, event)).toBe(403);
        expect(await tell(event, { headers: { 'telnyx-timestamp': '' } })).toBe(403);
      }
      await other.close();
      expect(receipts).toEqual([]);
      expect(await tell(event, { at: NOW() - 290 })).toBe(200);
    });

    test('one that is signed and sent to the address of another message says nothing of that message', async () => {
      const event = ended('delivered');
      const proof = new URL(addressOf('msg_1')).searchParams.get('k');
      const base = `${route.url}/inbound/${vendor.kind}/acc_1`;
      for (const query of ['?m=msg_2', `?m=msg_2&k=${proof}`, '?m=msg_2&k=', '']) {
        receipts = [];
        expect(await fake.post(base + query, event)).toBe(200);
        // Vonage's own reference is in what it signs.
        expect(receipts.map(({ id }) => id)).toEqual([vendor === TELNYX ? undefined : 'msg_1']);
      }
    });

    test('one without a signature is 403 for Telnyx, and 503 for Vonage, which sends it again', async () => {
      const url = `${route.url}/inbound/${vendor.kind}/acc_1?m=msg_1`;
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(ended('delivered')) });
      expect(answer.status).toBe(vendor === TELNYX ? 403 : 503);
      if (vendor === VONAGE) expect(answer.headers.get('retry-after')).toBe('1');
    });

    test('a check asks for what costs nothing', async () => {
      expect(await vendor.check(accountAt(fake))).toMatchObject({ ok: true });
      const wrong = { ...accountAt(fake), secrets: { ...fake.secrets, apiKey: 'x' } };
      if (vendor === TELNYX) expect(await vendor.check(wrong)).toMatchObject({ ok: false });
    });
  });
});

test('Vonage is given the time that is left, in seconds', async () => {
  const fake = await startFakeVonage();
  const addresses = addressesAt(VONAGE, () => 'http://127.0.0.1:9');
  const provider = VONAGE.open({ channel: 'sms', account: accountAt(fake), addresses });
  const message = { id: 'm', uid: 'm', channel: 'sms' as const, to: TO.accepted, from: '12345', text: 'Hi' };
  const till = (ms: number) => ({
    ...message,
    attempt: 1,
    expiresAt: new Date(Date.now() + ms).toISOString(),
  });
  const [late] = await provider.handOver([till(10_000)]);
  expect([late?.kind, fake.requests.length]).toEqual(['throttled', 0]);
  await provider.handOver([till(3_600_000)]);
  const { ttl } = JSON.parse(fake.requests[0]?.text ?? '') as { ttl: number };
  expect(ttl).toBeGreaterThan(3_590);
  expect(ttl).toBeLessThanOrEqual(3_600);
  await provider.close();
  await fake.close();
});

test('the vendors’ own SDKs believe what the fakes sign', async () => {
  const [telnyx, vonage] = [await startFakeTelnyx(), await startFakeVonage()];
  const seen: { headers: Record<string, string>; body: string }[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = (async (_url: string, init: { headers: Record<string, string>; body: string }) => {
    seen.push(init);
    return new Response('');
  }) as typeof fetch;
  await telnyx.post('http://127.0.0.1/', { data: {} });
  await vonage.post('http://127.0.0.1/', {});
  globalThis.fetch = real;
  const [one, other] = seen as [(typeof seen)[0], (typeof seen)[0]];
  const webhook = new TelnyxWebhook(telnyx.settings.publicKey as string);
  await expect(Promise.resolve(webhook.verify(one.body, one.headers))).resolves.not.toThrow();
  const token = other.headers.authorization?.replace('Bearer ', '') ?? '';
  // The vendor's SDK for JWTs calls the same library.
  expect(verify(token, vonage.secrets.signatureSecret as string, { algorithms: ['HS256'] })).toMatchObject({
    iss: 'Vonage',
  });
  await telnyx.close();
  await vonage.close();
});
