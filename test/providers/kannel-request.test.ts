import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openKannelProvider } from '../../src/providers/kannel-provider';
import type { HandOver, HandOverResult, Provider } from '../../src/providers/provider';

/** What smsbox is asked, and what its answers mean; a real Kannel is in kannel-provider.test.ts. */
describe('a request to Kannel', () => {
  let server: Server;
  let provider: Provider;
  let asked: URLSearchParams[];
  let respond: { status: number; text: string };

  beforeEach(async () => {
    asked = [];
    respond = { status: 202, text: '0: Accepted for delivery' };
    server = createServer((request, response) => {
      asked.push(new URL(request.url ?? '', 'http://kannel').searchParams);
      response.writeHead(respond.status).end(respond.text);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const url = `http://fanfare:secret@127.0.0.1:${port}/cgi-bin/sendsms`;
    provider = openKannelProvider({ url, dlrUrl: () => 'http://fanfare.test/inbound/kannel/x' });
  });
  afterEach(async () => {
    await provider.close();
    server.close();
    server.closeAllConnections();
  });

  async function handOver(more: Partial<HandOver> = {}): Promise<HandOverResult | undefined> {
    const message = { id: 'msg_1', uid: 'u', channel: 'sms', to: '+12125550190', from: '12345' } as const;
    return (await provider.handOver([{ ...message, text: 'Hello', attempt: 1, ...more }]))[0];
  }

  test.each([
    [90_000, '2'],
    [20_000, '1'],
    [3_600_000, '60'],
    [-1_000, '1'],
  ])('with an end in %d ms is good for %s minutes', async (inMs, minutes) => {
    await handOver({ expiresAt: new Date(Date.now() + inMs).toISOString() });
    expect(asked[0]?.get('validity')).toBe(minutes);
  });

  test('without an end says nothing of one', async () => {
    await handOver();
    expect(asked[0]?.has('validity')).toBe(false);
  });

  test.each([
    [202, '3: Queued for later delivery', { kind: 'accepted', providerId: 'msg_1' }],
    [400, 'Missing receiver number', { kind: 'rejected', code: 'kannel_400' }],
    [403, 'Authorization failed for sendsms', { kind: 'account', code: 'kannel_403' }],
    [403, 'Number(s) has/have been denied by white- and/or black-lists.', { kind: 'rejected' }],
    [404, 'Not found', { kind: 'account', orRecipient: true }],
    [404, 'Not routable. Do not try again.', { kind: 'rejected', code: 'kannel_404' }],
    [408, '', { kind: 'transient' }],
    [429, '', { kind: 'throttled' }],
    [503, 'Temporal failure, try again later.', { kind: 'transient', code: 'kannel_503' }],
    [302, '', { kind: 'account' }],
  ] as const)('answered %d %j', async (status, text, expected) => {
    respond = { status, text };
    expect(await handOver()).toMatchObject(expected);
  });
});
