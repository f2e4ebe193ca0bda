import type { AddressInfo } from 'node:net';
import { inboundKannelRoutes } from '../../src/http/inbound-kannel';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import { openKannelProvider } from '../../src/providers/kannel-provider';
import type { HandOver, InboundSms, Provider, Receipt, ReceiptSink } from '../../src/providers/provider';
import { type Kannel, startKannel } from '../support/kannel';
import { NO_CALLERS } from '../support/no-callers';
import { startSmsc } from '../support/smsc';
import { until } from '../support/until';
import { providerConformance, type Rig } from './conformance';

/** The route that Kannel reports to, at a port that does not change while the product behind it does. */
async function startInbound() {
  const received: { receipts: Receipt[]; inbound: InboundSms[] } = { receipts: [], inbound: [] };
  let sink: ReceiptSink = async (receipts) => void received.receipts.push(...receipts);
  const log = createLog('silent');
  const app = await buildServer({
    authenticator: NO_CALLERS,
    log,
    routes: [
      inboundKannelRoutes({
        secret: 'secret',
        takeReceipts: (receipts) => sink(receipts),
        takeInbound: async (messages) => void received.inbound.push(...messages),
        sendersRefused: async () => undefined,
      }),
    ],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    ...received,
    url: `http://127.0.0.1:${port}/inbound/kannel/secret`,
    giveTo(to: ReceiptSink) {
      sink = to;
    },
    close: async () => void (await app.close()),
  };
}

type Inbound = Awaited<ReturnType<typeof startInbound>>;

async function startAll() {
  const smsc = await startSmsc();
  const inbound = await startInbound();
  const kannel = await startKannel({ smscPort: smsc.port, getUrl: inbound.url });
  await until('Kannel to be bound', () => smsc.sessions() > 0);
  return {
    smsc,
    inbound,
    kannel,
    async close() {
      await kannel.close();
      await inbound.close();
      await smsc.close();
    },
  };
}

const open = (kannel: Pick<Kannel, 'url'>, inbound: Pick<Inbound, 'url'>): Provider =>
  openKannelProvider({ url: kannel.url, dlrUrl: () => inbound.url });

let made = 0;
const message = (text = 'Hello', to = '+12125550190'): HandOver => {
  const id = `msg_${++made}`;
  return { id, uid: id, channel: 'sms', to, from: '12345', text, attempt: 1 };
};

describe('a real Kannel', () => {
  let all: Awaited<ReturnType<typeof startAll>>;
  let provider: Provider;

  beforeAll(async () => {
    all = await startAll();
    provider = open(all.kannel, all.inbound);
  });
  afterAll(async () => {
    await provider?.close();
    await all?.close();
  });

  const untilReceipt = (id: string) =>
    until('the receipt', () => all.inbound.receipts.find((receipt) => receipt.id === id));

  test('carries a message to the centre, and its receipt back', async () => {
    const sent = message('5 € @');
    expect(await provider.handOver([sent])).toEqual([{ kind: 'accepted', providerId: sent.id }]);
    expect(await untilReceipt(sent.id)).toMatchObject({ type: 'delivered', at: expect.any(String) });
    const part = all.smsc.taken.at(-1);
    expect([part?.from, part?.to, part?.octets.toString('hex')]).toEqual([
      '12345',
      '12125550190',
      '35201b652000',
    ]);
  });

  test('carries other alphabets, and cuts what is long', async () => {
    const before = all.smsc.taken.length;
    const [cyrillic, long] = [message('жук'), message('x'.repeat(400))];
    await provider.handOver([cyrillic]);
    await untilReceipt(cyrillic.id);
    expect(all.smsc.taken[before]).toMatchObject({
      dataCoding: 8,
      octets: Buffer.from('04360443043a', 'hex'),
    });
    await provider.handOver([long]);
    expect(await untilReceipt(long.id)).toMatchObject({ type: 'delivered' });
    expect(all.smsc.taken.slice(before + 1).map(({ esmClass }) => esmClass & 0x40)).toEqual([
      0x40, 0x40, 0x40,
    ]);
  });

  test.each([
    ['121', 'undelivered', 'smpp_undeliv_034'],
    ['122', 'expired', 'smpp_expired_034'],
    ['123', 'rejected', 'smpp_rejectd_034'],
    ['101', 'rejected', 'smpp_0x0b'],
  ])('tells that a message to a number with %s at its end is %s', async (suffix, type, code) => {
    const sent = message('Hello', `+12125550${suffix}`);
    await provider.handOver([sent]);
    expect(await untilReceipt(sent.id)).toMatchObject({ type, code });
  });

  test('brings what a subscriber writes', async () => {
    all.smsc.say({ from: '12125550177', to: '12345', text: 'STOP' });
    const received = await until('the message', () => all.inbound.inbound[0]);
    expect(received).toMatchObject({
      from: '+12125550177',
      to: '12345',
      text: 'STOP',
      id: expect.any(String),
    });
  });

  test('that does not know our password pauses the account', async () => {
    const stranger = open({ url: all.kannel.url.replace('kannel-secret', 'wrong') }, all.inbound);
    const expected = { kind: 'account', code: 'kannel_403', message: 'The carrier answered 403' };
    expect(await stranger.handOver([message()])).toEqual([expected]);
    await stranger.close();
  });

  test('that is not there leaves messages to be tried again', async () => {
    const nowhere = open({ url: 'http://fanfare:x@127.0.0.1:1/cgi-bin/sendsms' }, all.inbound);
    expect(await nowhere.handOver([message()])).toEqual([
      { kind: 'transient', code: 'ECONNREFUSED', unreached: true },
    ]);
    await nowhere.close();
  });

  test('is not told to send a text by what stands in it', async () => {
    const sent = message('100% %d & +1=2');
    await provider.handOver([sent]);
    await untilReceipt(sent.id);
    expect(all.smsc.taken.at(-1)?.octets.toString('latin1')).toBe('100% %d & +1=2');
  });
});

let shared: Awaited<ReturnType<typeof startAll>> | undefined;
afterAll(() => shared?.close());

/** One Kannel for all tests of the suite, since it takes a second to start. */
async function createRig(): Promise<Rig> {
  shared ??= await startAll();
  const { smsc, inbound, kannel } = shared;
  smsc.taken.length = 0;
  inbound.giveTo(async () => {
    throw new Error('nobody is there');
  });
  const named = (messages: readonly HandOver[]) => messages.map((one) => ({ ...one, text: one.id }));
  let accepted = 0;
  // What Kannel still owes the tests before is taken from it and left out.
  const mine = new Set<string | undefined>();
  return {
    async open() {
      const provider = open(kannel, inbound);
      let underWay = Promise.resolve();
      return {
        ...provider,
        async handOver(messages, mayLeave) {
          for (const { id } of messages) mine.add(id);
          const results = await provider.handOver(named(messages), mayLeave);
          accepted += results.filter(({ kind }) => kind === 'accepted').length;
          return results;
        },
        async start(sink) {
          inbound.giveTo(async (receipts) => {
            if (!receipts.some(({ id }) => mine.has(id))) return;
            underWay = sink(receipts);
            await underWay;
          });
        },
        async close() {
          inbound.giveTo(async () => {
            throw new Error('nobody is there');
          });
          await underWay.catch(() => undefined);
          await provider.close();
        },
      };
    },
    // Kannel answers before the centre does: what it took reaches the centre a little later.
    async delivered() {
      const reached = () =>
        smsc.taken
          .map(({ octets }) => octets.toString('latin1').replaceAll('\x11', '_'))
          .filter((id) => mine.has(id));
      await until('the centre to have what Kannel took', () => reached().length >= accepted);
      return reached();
    },
    close: async () => undefined,
  };
}

providerConformance('Kannel', createRig, { channel: 'sms', addresses: { accepted: '+12125550190' } });
