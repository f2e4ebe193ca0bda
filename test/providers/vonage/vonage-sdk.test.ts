/** Proves, by the vendor's own SDK, that requests at Vonage are what it sends itself, and that the stand-in is no reading of ours alone. */

import { tokenGenerate, verifySignature } from '@vonage/jwt';
import { Messages, SMS } from '@vonage/messages';
import { Voice } from '@vonage/voice';
import type { HandOver } from '../../../src/providers/provider';
import type { VendorAccount } from '../../../src/providers/vendor/vendor';
import { VONAGE } from '../../../src/providers/vonage/vonage';
import { type FakeJsonCarrier, startFakeVonage, TO } from '../../support/fake-json-carrier';

describe('requests to Vonage', () => {
  let fake: FakeJsonCarrier;
  let account: VendorAccount;
  let sdk: ConstructorParameters<typeof Messages>;

  beforeEach(async () => {
    fake = await startFakeVonage();
    const { settings, secrets, url } = fake;
    account = { id: 'acc_1', settings, secrets };
    sdk = [
      { applicationId: settings.applicationId as string, privateKey: secrets.privateKey as string },
      { apiHost: url },
    ];
  });
  afterEach(() => fake.close());

  const addresses = {
    callback: (id: string) => `https://fanfare.example/inbound/vonage/acc_1?m=${id}`,
    document: (path: string) => `https://fanfare.example/calls/${path}`,
  };
  const open = (channel: 'sms' | 'voice') =>
    VONAGE.open({
      ...{ channel, account, addresses },
      calls: { begin: async () => ({ path: 'token/start' }), drop: async () => undefined },
    });
  const message = (more: Partial<HandOver>): HandOver => ({
    ...{ id: 'msg_1', uid: 'u1', channel: 'sms', to: TO.accepted, from: '+12125550100', attempt: 1 },
    ...more,
  });
  const bodies = () =>
    fake.requests.map(({ method, path, text }) => [method, path, text && JSON.parse(text)]);

  test('a message is what the SDK makes of the same wishes', async () => {
    const provider = open('sms');
    const expiresAt = new Date(Date.now() + 3_600_500).toISOString();
    await provider.handOver([message({ text: 'Hello', expiresAt })]);
    await provider.close();
    const [[, , sentByUs] = []] = bodies();
    const { webhook_url, ttl } = sentByUs as { webhook_url: string; ttl: number };
    const sent = await new Messages(...sdk).send(
      new SMS({
        ...{ to: '12025550190', from: '12125550100', text: 'Hello', ttl, clientRef: 'msg_1' },
        ...{ webhookUrl: webhook_url, webhookVersion: 'v1', sms: { encodingType: 'text' } },
      } as unknown as string),
    );
    expect(sent.messageUUID).toBe(fake.messages[1]?.id);
    const [ours, theirs] = bodies();
    expect(ours).toEqual(theirs);
  });

  test.each(['sms', 'voice'] as const)(
    'of an account whose key is none are not made: %s',
    async (channel) => {
      account = { ...account, secrets: { ...account.secrets, privateKey: 'no key' } };
      const dropped: string[] = [];
      const provider = VONAGE.open({
        ...{ channel, account, addresses },
        calls: { begin: async () => ({ path: 'token/start' }), drop: async (id) => void dropped.push(id) },
      });
      const [result] = await provider.handOver([
        message({ channel, text: 'Hello', xml: '<Response><Say>Hello</Say></Response>' }),
      ]);
      await provider.close();
      expect(result).toMatchObject({ kind: 'account', code: 'credentials_unreadable' });
      expect(dropped).toEqual(channel === 'voice' ? ['msg_1'] : []);
      expect(fake.requests).toEqual([]);
    },
  );

  test('a call, its look-up and its withdrawal are what the SDK makes of the same wishes', async () => {
    const provider = open('voice');
    const voice = { machine: 'leave_message', ringTimeoutSeconds: 20, maxSeconds: 300 } as const;
    const xml = '<Response><Say>Hello</Say></Response>';
    const [result] = await provider.handOver([message({ channel: 'voice', xml, voice })]);
    await provider.withdraw?.((result as { providerId: string }).providerId);
    await provider.close();
    const ours = bodies().splice(0);
    fake.requests.length = 0;
    const [[, , placed] = []] = ours;
    const { event_url } = placed as { event_url: string[] };
    const client = new Voice(...sdk);
    const { uuid } = await client.createOutboundCall({
      to: [{ type: 'phone', number: '12025550190' }],
      from: { type: 'phone', number: '12125550100' },
      ...{ answerUrl: [addresses.document('token/start')], answerMethod: 'POST' },
      ...{ eventUrl: event_url, eventMethod: 'POST', ringingTimer: 20, lengthTimer: 300 },
      advancedMachineDetection: { behavior: 'continue', mode: 'default', beepTimeout: 45 },
    } as Parameters<Voice['createOutboundCall']>[0]);
    expect(uuid).toBe(fake.calls[1]?.uuid);
    expect((await client.getCall(uuid)).status).toBe('started');
    await client.hangupCall(uuid);
    const [one, other] = fake.calls.map((call) => call.uuid) as [string, string];
    const renamed = bodies().map((asked) => JSON.parse(JSON.stringify(asked).replaceAll(other, one)));
    expect(ours).toEqual(renamed);
    fake.requests.length = 0;
    await VONAGE.voice?.steer(account, one, { url: 'https://fanfare.example/calls/t' });
    await client.transferCallWithURL(one, 'https://fanfare.example/calls/t');
    const [steered, transferred] = bodies();
    expect(steered).toEqual(transferred);
  });

  test('what the stand-in signs, the SDK believes; whom the SDK takes us for, the stand-in does', async () => {
    const seen: string[] = [];
    const real = globalThis.fetch;
    globalThis.fetch = (async (_: string, init: { headers: Record<string, string> }) => {
      seen.push(init.headers.authorization as string);
      return new Response('');
    }) as unknown as typeof fetch;
    await fake.post('http://127.0.0.1/', { status: 'delivered' });
    globalThis.fetch = real;
    const secret = fake.secrets.signatureSecret as string;
    const token = (seen[0] as string).replace('Bearer ', '');
    expect(verifySignature(token, secret)).toBe(true);
    expect(verifySignature(token, 'another secret')).toBe(false);
    const { applicationId, privateKey } = { ...fake.settings, ...fake.secrets } as Record<string, string>;
    const authorization = `Bearer ${tokenGenerate(applicationId as string, privateKey as string)}`;
    expect((await fetch(`${fake.url}/v1/calls`, { headers: { authorization } })).status).toBe(200);
  });
});
