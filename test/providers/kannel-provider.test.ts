import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openKannelProvider } from '../../src/providers/kannel-provider';
import type { HandOver, HandOverResult, Provider } from '../../src/providers/provider';

/** A sendsms that answers as it is told; a real Kannel is spoken with in kannel-provider.peers.test.ts. */
describe('a message to sendsms', () => {
  const asked: URLSearchParams[] = [];
  let next: { status: number; text: string } | 'hangs up';
  let provider: Provider;
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://kannel').searchParams);
    if (next === 'hangs up') request.socket.destroy();
    else response.writeHead(next.status).end(next.text);
  });

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    provider = openKannelProvider({
      url: `http://fanfare:kannel%2Dsecret@127.0.0.1:${port}/cgi-bin/sendsms`,
      dlrUrl: () => 'http://127.0.0.1/inbound/kannel/secret',
    });
  });
  beforeEach(() => {
    asked.length = 0;
    next = { status: 202, text: '0: Accepted for delivery' };
  });
  afterAll(async () => {
    await provider.close();
    await new Promise((done) => server.close(done));
  });

  const message = (text = 'Hello'): HandOver => ({
    ...{ id: 'msg_1', uid: 'uid-1', channel: 'sms', to: '+12125550190', from: '12345', text, attempt: 1 },
  });

  test('names the account, the addresses and the text, and where receipts of it go', async () => {
    expect(await provider.handOver([message('100% & +1=2 €')])).toEqual([
      { kind: 'accepted', providerId: 'msg_1' },
    ]);
    expect(Object.fromEntries(asked[0] ?? [])).toEqual({
      username: 'fanfare',
      password: 'kannel-secret',
      from: '12345',
      to: '+12125550190',
      text: '100% & +1=2 €',
      charset: 'UTF-8',
      coding: '0',
      'dlr-mask': '19',
      'dlr-url': 'http://127.0.0.1/inbound/kannel/secret?id=msg_1&dlr=%d&answer=%A&time=%T',
    });
  });

  test('asks for UCS-2 only where the text needs it', async () => {
    await provider.handOver([message('жук')]);
    expect(asked[0]?.get('coding')).toBe('2');
  });

  test.each([
    [90_000, '2'],
    [20_000, '1'],
    [3_600_000, '60'],
    [-1_000, '1'],
  ])('with an end in %d ms is good for %s minutes', async (inMs, minutes) => {
    await provider.handOver([{ ...message(), expiresAt: new Date(Date.now() + inMs).toISOString() }]);
    await provider.handOver([message()]);
    expect(asked.map((query) => query.get('validity'))).toEqual([minutes, null]);
  });

  const account = (status: number) =>
    ({ kind: 'account', code: `kannel_${status}`, message: `The carrier answered ${status}` }) as const;
  test.each<[string, number, string, HandOverResult]>([
    [
      'queued until there is a way',
      202,
      '3: Queued for later delivery',
      { kind: 'accepted', providerId: 'msg_1' },
    ],
    ['too fast', 429, '', { kind: 'throttled', retryAfterMs: 1_000 }],
    ['out of order', 503, 'Temporal failure', { kind: 'transient', code: 'kannel_503' }],
    ['a wrong password', 403, 'Authorization failed', account(403)],
    ['a wrong path', 404, 'Unknown request.', { ...account(404), orRecipient: true }],
    ['slow itself', 408, '', { kind: 'transient', code: 'kannel_408' }],
    ['a redirect', 301, '', account(301)],
    [
      'a number without a way',
      403,
      'Not routable',
      { kind: 'rejected', code: 'kannel_403', message: 'Kannel has no way for this number' },
    ],
    ['a bad request', 400, '', { kind: 'rejected', code: 'kannel_400', message: 'The carrier answered 400' }],
  ])('ends by the answer: %s', async (_, status, text, expected) => {
    next = { status, text };
    expect(await provider.handOver([message()])).toEqual([expected]);
  });

  test('is unknown when the connection ends before the answer, and sent again when none was made', async () => {
    next = 'hangs up';
    expect(await provider.handOver([message()])).toEqual([{ kind: 'unknown' }]);
    const nowhere = openKannelProvider({
      url: 'http://fanfare:x@127.0.0.1:1/cgi-bin/sendsms',
      dlrUrl: () => 'http://127.0.0.1/inbound/kannel/secret',
    });
    expect(await nowhere.handOver([message()])).toEqual([
      { kind: 'transient', code: 'ECONNREFUSED', unreached: true },
    ]);
    await nowhere.close();
  });
});
