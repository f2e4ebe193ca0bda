import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITS } from '../../src/domain/limits';
import { inboundRoutes } from '../../src/http/inbound';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import { openHttpCarrier } from '../../src/providers/http-carrier';
import { openHttpProvider } from '../../src/providers/http-provider';
import type { HandOver, HandOverResult, Provider, ReceiptSink } from '../../src/providers/provider';
import { freePort } from '../support/free-port';
import { NO_CALLERS } from '../support/no-callers';
import { until } from '../support/until';
import { providerConformance, type Rig } from './conformance';
import { answer, bodyOf, startHttpCarrier } from './http-carrier';

/** The provider and the route that receipts come by belong together: they are opened and closed as one. */
function createRig(idempotent: boolean): () => Promise<Rig> {
  return async () => {
    const carrier = await startHttpCarrier({ idempotent });
    const open = async (): Promise<Provider> => {
      const provider = openHttpProvider({ channel: 'email', url: carrier.url, idempotent });
      let closeInbound: () => Promise<void> = async () => undefined;
      return {
        ...provider,
        async start(takeReceipts) {
          const inbound = await startInbound(takeReceipts);
          carrier.reportTo(inbound.url);
          closeInbound = async () => {
            carrier.reportTo(undefined);
            await inbound.close();
          };
        },
        async close() {
          await closeInbound();
          await provider.close();
        },
      };
    };
    return { open, delivered: () => carrier.delivered, close: () => carrier.close() };
  };
}

async function startInbound(takeReceipts: ReceiptSink): Promise<{ url: string; close(): Promise<void> }> {
  const app = await buildServer({
    authenticator: NO_CALLERS,
    log: createLog('silent'),
    routes: [inboundRoutes({ secret: 'secret', takeReceipts, takeInbound: async () => undefined })],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/inbound/http/secret`, close: async () => void (await app.close()) };
}

const addresses = {
  accepted: 'ann@example.com',
  rejected: 'reject@example.com',
  transient: 'down@example.com',
  throttled: 'throttle@example.com',
  account: 'refuse@example.com',
  lost: 'lost@example.com',
};
providerConformance('the HTTP provider on an idempotent carrier', createRig(true), {
  channel: 'email',
  addresses,
});
providerConformance('the HTTP provider on any carrier', createRig(false), { channel: 'email', addresses });

describe('the HTTP provider', () => {
  let server: Server;
  let provider: Provider;
  let respond: (response: ServerResponse, incoming: IncomingMessage, body: string) => void;

  beforeEach(async () => {
    respond = (response) => answer(response, 200, { id: 'p1' });
    server = createServer((incoming, response) => {
      void bodyOf(incoming).then((body) => respond(response, incoming, body));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    provider = open();
  });
  afterEach(async () => {
    await provider.close();
    server.close();
    server.closeAllConnections();
  });

  function open(options: Partial<Parameters<typeof openHttpProvider>[0]> = {}): Provider {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/v1/out?key=a%20b`;
    return openHttpProvider({ channel: 'sms', url, idempotent: false, ...options });
  }

  const message = (n = 1): HandOver => ({
    id: `msg_${n}`,
    uid: `uid_${n}`,
    channel: 'sms',
    to: '+12125550190',
    from: '12345',
    text: 'Grüße',
    campaign: 'spring',
    attempt: 2,
  });

  async function resultFor(status: number, body: unknown, headers: Record<string, string> = {}) {
    respond = (response) => answer(response, status, body, headers);
    return (await provider.handOver([message()]))[0];
  }

  test('posts each message as JSON under its id as the idempotency key', async () => {
    const seen: unknown[] = [];
    respond = (response, incoming, body) => {
      const { method, url, headers } = incoming;
      seen.push({ method, url, key: headers['idempotency-key'], type: headers['content-type'] });
      seen.push(JSON.parse(body));
      answer(response, 201, { id: 'p1' });
    };
    expect(await provider.handOver([message()])).toEqual([{ kind: 'accepted', providerId: 'p1' }]);
    const request = { method: 'POST', url: '/v1/out?key=a%20b', key: 'msg_1', type: 'application/json' };
    expect(seen).toEqual([request, message()]);
  });

  test('sends the user and password of its URL in the Basic scheme', async () => {
    const { port } = server.address() as AddressInfo;
    const withUser = open({ url: `http://ann:p%40ss@127.0.0.1:${port}/` });
    let given: string | undefined;
    respond = (response, incoming) => {
      given = incoming.headers.authorization;
      answer(response, 200, { id: 1 });
    };
    expect(await withUser.handOver([message()])).toEqual([{ kind: 'accepted', providerId: '1' }]);
    expect(given).toBe(`Basic ${Buffer.from('ann:p@ss').toString('base64')}`);
    await withUser.close();
  });

  test('takes a success without an id as accepted under our own', async () => {
    expect(await resultFor(200, 'ok')).toEqual({ kind: 'accepted', providerId: 'msg_1' });
  });

  const own = { code: 'bad', message: 'No' };
  const permanent = { kind: 'rejected', ...own } as const;
  const account = (status: number) =>
    ({ kind: 'account', code: `http_${status}`, message: `The carrier answered ${status}` }) as const;
  const orRecipient = (status: number) => ({ ...account(status), orRecipient: true }) as const;
  const PAST = 'Sat, 01 Jan 2000 00:00:00 GMT';
  const ANSWERS: [number, unknown, Record<string, string>, HandOverResult][] = [
    [400, own, {}, permanent],
    [400, {}, {}, { kind: 'rejected', code: 'http_400', message: 'The carrier answered 400' }],
    [422, { code: 17 }, {}, { kind: 'rejected', code: '17', message: 'The carrier answered 422' }],
    [401, 'Unauthorized', {}, account(401)],
    [401, own, {}, permanent],
    [402, {}, {}, account(402)],
    [402, own, {}, permanent],
    [403, { message: 'No' }, {}, { ...account(403), message: 'No' }],
    [403, own, {}, permanent],
    [404, 'gone', {}, orRecipient(404)],
    [404, own, {}, permanent],
    [405, {}, {}, orRecipient(405)],
    [405, own, {}, permanent],
    [408, {}, {}, { kind: 'transient', code: 'http_408' }],
    [408, own, {}, { kind: 'transient', code: 'bad' }],
    [425, {}, { 'retry-after': '2' }, { kind: 'transient', code: 'http_425', retryAfterMs: 2_000 }],
    [425, own, {}, { kind: 'transient', code: 'bad' }],
    [429, {}, { 'retry-after': '7' }, { kind: 'throttled', retryAfterMs: 7_000 }],
    [429, {}, { 'retry-after': '0' }, { kind: 'throttled', retryAfterMs: 1_000 }],
    [429, {}, { 'retry-after': PAST }, { kind: 'throttled', retryAfterMs: 1_000 }],
    [429, own, {}, { kind: 'throttled', retryAfterMs: 1_000 }],
    [429, {}, { 'retry-after': 'soon' }, { kind: 'throttled', retryAfterMs: 1_000 }],
    [451, {}, {}, { kind: 'rejected', code: 'http_451', message: 'The carrier answered 451' }],
    [500, {}, {}, { kind: 'transient', code: 'http_500' }],
    [503, { code: 'busy' }, { 'retry-after': '3' }, { kind: 'transient', code: 'busy', retryAfterMs: 3_000 }],
  ];
  test.each(ANSWERS)('reads %i %j %j', async (status, body, headers, expected) => {
    expect(await resultFor(status, body, headers)).toEqual(expected);
  });

  test('reads a Retry-After that is a date', async () => {
    const at = new Date(Date.now() + 60_000).toUTCString();
    const result = await resultFor(429, {}, { 'retry-after': at });
    const ms = result?.kind === 'throttled' ? result.retryAfterMs : 0;
    expect(ms).toBeGreaterThan(50_000);
    expect(ms).toBeLessThanOrEqual(60_000);
  });

  test.each([
    ['0', 1, 1_000],
    ['1', 5, 16_000],
    ['40', 5, 40_000],
    ['1', 30, LIMITS.handoverBackoffMaxMs],
  ])('with a Retry-After of %s s on try %i waits %i ms', async (seconds, attempt, retryAfterMs) => {
    respond = (response) => answer(response, 503, {}, { 'retry-after': seconds });
    expect(await provider.handOver([{ ...message(), attempt }])).toEqual([
      { kind: 'transient', code: 'http_503', retryAfterMs },
    ]);
  });

  test('does not follow a redirect, and stops for everybody', async () => {
    expect(await resultFor(302, {}, { location: '/elsewhere' })).toMatchObject({ kind: 'account' });
  });

  describe.each([
    [false, { kind: 'unknown' }],
    [true, { kind: 'transient', code: expect.any(String), inDoubt: true }],
  ] as const)('to a carrier with idempotency %s', (idempotent, inDoubt) => {
    test('a message that never left is transient', async () => {
      const refused = open({ idempotent, url: `http://127.0.0.1:${await freePort()}/` });
      expect(await refused.handOver([message()])).toEqual([
        { kind: 'transient', code: 'ECONNREFUSED', unreached: true },
      ]);
      await refused.close();
    });

    test('a message that a failed TLS handshake kept here is transient', async () => {
      const { port } = server.address() as AddressInfo;
      const refused = open({ idempotent, url: `https://127.0.0.1:${port}/` });
      expect(await refused.handOver([message()])).toMatchObject([{ kind: 'transient' }]);
      await refused.close();
    });

    test('a message whose answer never comes is in doubt', async () => {
      const impatient = open({ idempotent, answerTimeoutMs: 50 });
      respond = () => undefined;
      expect(await impatient.handOver([message()])).toEqual([inDoubt]);
      await impatient.close();
    });

    test.each([
      ['comes byte by byte', (response: ServerResponse) => response.write(' ')],
      ['is put off again and again', (response: ServerResponse) => response.writeProcessing()],
    ])('a message whose answer %s is in doubt', async (_, drip) => {
      const impatient = open({ idempotent, answerTimeoutMs: 1_000 });
      let timer: NodeJS.Timeout | undefined;
      respond = (response) => {
        timer = setInterval(() => drip(response), 100);
      };
      const late = new Promise((done) => setTimeout(done, 4_000, 'still waiting'));
      expect(await Promise.race([impatient.handOver([message()]), late])).toEqual([inDoubt]);
      clearInterval(timer);
      await impatient.close();
    });

    test('a message whose connection breaks before the answer is in doubt', async () => {
      const other = open({ idempotent });
      respond = (_response, incoming) => incoming.socket.destroy();
      expect(await other.handOver([message()])).toEqual([inDoubt]);
      await other.close();
    });

    test('a message is in doubt when its answer is larger than any answer should be', async () => {
      const other = open({ idempotent });
      respond = (response) => answer(response, 200, { id: 'x'.repeat(LIMITS.httpProviderAnswerBytes) });
      expect(await other.handOver([message()])).toEqual([inDoubt]);
      await other.close();
    });
  });

  test('has a bounded number of messages with the carrier at once', async () => {
    let atOnce = 0;
    let most = 0;
    respond = (response) => {
      most = Math.max(most, ++atOnce);
      setImmediate(() => {
        atOnce--;
        answer(response, 200, { id: 'p' });
      });
    };
    const batch = Array.from({ length: provider.capabilities.batchMax }, (_, n) => message(n));
    const results = (await Promise.all([provider.handOver(batch), provider.handOver(batch)])).flat();
    expect(results.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(most).toBeLessThanOrEqual(LIMITS.httpProviderConnections);
  });

  test('closes within its patience although a carrier never answers, and leaves that message in doubt', async () => {
    let asked = false;
    respond = () => {
      asked = true;
    };
    const results = provider.handOver([message()]);
    await until('the carrier to be asked', () => asked);
    await provider.close();
    expect(await results).toEqual([{ kind: 'unknown' }]);
  });
});

test('a message that fails before its request begins leaves no doubt, and none of those beside it', async () => {
  const server = createServer((_, response) => response.end('{}'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const carrier = openHttpCarrier({ url, connections: 3, answerMs: 1_000, answerBytes: 1_000 });
  try {
    const handOver = carrier.handOver(async ({ id }, mayBegin) => {
      if (id === 'early') throw Object.assign(new TypeError(`no key for +12025550123`), { code: 'ERR_KEY' });
      await carrier.ask({ method: 'GET', path: '/' }, mayBegin);
      if (id === 'late') throw new Error('no word');
      return { kind: 'accepted', providerId: id };
    });
    const messages = ['early', 'late', 'fine'].map(
      (id): HandOver => ({
        ...{ id, uid: id, channel: 'sms', to: '+12025550123', from: '12345' },
        attempt: 1,
      }),
    );
    const results = await handOver(messages);
    expect(results).toMatchObject([
      { kind: 'transient', code: 'request_not_made', fault: { name: 'TypeError', code: 'ERR_KEY' } },
      { kind: 'unknown', fault: { name: 'Error' } },
      { kind: 'accepted', providerId: 'fine' },
    ]);
    expect(JSON.stringify(results)).not.toContain('2025550123');
  } finally {
    await carrier.close();
    server.close();
  }
});
