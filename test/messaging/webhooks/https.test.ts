/** Proves that a delivery over https checks address and certificate. */

import { createServer, type Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import { createWebhookPoster, type WebhookPoster } from '../../../src/messaging/webhooks/post';
import { createTargetGuard } from '../../../src/messaging/webhooks/target-guard';
import { type Authority, makeAuthority } from '../../support/authority';
import { type Receiver, startReceiver } from './receiver';

describe('a delivery over https', () => {
  let authority: Authority;
  /** Where names lead to; everything is on this machine. */
  let addresses: string[];
  const receivers: Receiver[] = [];
  const posters: WebhookPoster[] = [];

  beforeAll(() => {
    authority = makeAuthority();
  });
  beforeEach(() => {
    addresses = ['127.0.0.1'];
  });
  afterEach(async () => {
    for (const poster of posters.splice(0)) poster.close();
    for (const receiver of receivers.splice(0)) await receiver.close();
  });
  afterAll(() => authority.remove());

  async function listen(tls: Parameters<typeof startReceiver>[2]): Promise<Receiver> {
    const receiver = await startReceiver('127.0.0.1', 0, tls);
    receivers.push(receiver);
    return receiver;
  }
  function createPoster(trusted: Buffer[] | undefined, answerMs = 10_000): WebhookPoster {
    const guard = createTargetGuard({ allowPrivate: true, resolve: async () => addresses });
    const poster = createWebhookPoster(guard, answerMs, trusted);
    posters.push(poster);
    return poster;
  }
  const post = (receiver: { port: number }, name: string, poster = createPoster([authority.cert])) =>
    poster.post(`https://${name}:${receiver.port}/told`, { 'webhook-id': 'whd_1' }, '{}');
  const failed = (code: string) => ({
    success: false,
    status: null,
    code,
    answer: null,
    retryAfterMs: null,
  });

  test('goes to the address that was judged, and asks for the certificate of the name', async () => {
    const receiver = await listen(authority.issue('DNS:hooks.example'));
    expect(await post(receiver, 'hooks.example')).toMatchObject({ success: true, status: 204 });
    expect(receiver.requests).toMatchObject([
      { servername: 'hooks.example', headers: { host: `hooks.example:${receiver.port}` } },
    ]);
  });

  test('is refused where the certificate is for the address, and the URL has a name', async () => {
    const receiver = await listen(authority.issue('IP:127.0.0.1'));
    expect(await post(receiver, 'hooks.example')).toEqual(failed('certificate_wrong_name'));
    expect(receiver.requests).toEqual([]);
  });

  test('is refused where the certificate is for another name', async () => {
    const receiver = await listen(authority.issue('DNS:example'));
    expect(await post(receiver, 'hooks.example')).toEqual(failed('certificate_wrong_name'));
    const wildcard = await listen(authority.issue('DNS:*.hooks.example'));
    expect(await post(wildcard, 'hooks.example')).toEqual(failed('certificate_wrong_name'));
    expect(await post(wildcard, 'one.hooks.example')).toMatchObject({ success: true });
    expect([...receiver.requests, ...wildcard.requests]).toHaveLength(1);
  });

  test('to an address needs a certificate for that address, and asks for no name', async () => {
    const receiver = await listen(authority.issue('IP:127.0.0.1'));
    expect(await post(receiver, '127.0.0.1')).toMatchObject({ success: true });
    expect(receiver.requests.map(({ servername }) => servername)).toEqual([false]);
    const named = await listen(authority.issue('DNS:hooks.example'));
    expect(await post(named, '127.0.0.1')).toEqual(failed('certificate_wrong_name'));
    expect(named.requests).toEqual([]);
  });

  test('is refused where no trusted authority has signed the certificate', async () => {
    const receiver = await listen(authority.issue('DNS:hooks.example'));
    const stranger = makeAuthority();
    for (const trusted of [[stranger.cert], undefined]) {
      const outcome = await post(receiver, 'hooks.example', createPoster(trusted));
      expect(outcome).toEqual(failed('certificate_untrusted'));
    }
    stranger.remove();
    expect(receiver.requests).toEqual([]);
  });

  test('is refused where the chain lacks its middle, and taken where it is whole', async () => {
    const middle = authority.subordinate();
    const { key, cert } = middle.issue('DNS:hooks.example');
    const broken = await listen({ key, cert });
    expect(await post(broken, 'hooks.example')).toEqual(failed('certificate_untrusted'));
    const whole = await listen({ key, cert: Buffer.concat([cert, middle.cert]) });
    expect(await post(whole, 'hooks.example')).toMatchObject({ success: true });
    expect(broken.requests).toEqual([]);
  });

  test('is refused where the certificate has expired', async () => {
    const receiver = await listen(authority.issue('DNS:hooks.example', -1));
    expect(await post(receiver, 'hooks.example')).toEqual(failed('certificate_expired'));
    expect(receiver.requests).toEqual([]);
  });

  test('does not follow a redirect, not even to itself', async () => {
    const receiver = await listen(authority.issue('DNS:hooks.example'));
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `https://hooks.example:${receiver.port}/elsewhere`;
      receiver.answerWith(() => ({ status, headers: { location } }));
      expect(await post(receiver, 'hooks.example')).toMatchObject({
        success: false,
        status,
        code: `http_${status}`,
      });
    }
    expect(receiver.requests.map(({ path }) => path)).toEqual(Array(5).fill('/told'));
  });

  test('of one name never travels on the connection of another, wherever both lead', async () => {
    const certificates = new Map(
      ['one.example', 'two.example'].map((name) => [name, authority.issue(`DNS:${name}`)]),
    );
    const receiver = await listen({
      SNICallback: (name, done) => done(null, createSecureContext(certificates.get(name))),
    });
    const poster = createPoster([authority.cert]);
    for (const name of ['one.example', 'two.example', 'one.example', 'three.example']) {
      const { success, code } = await post(receiver, name, poster);
      // The third name is served without a certificate.
      expect([name, success, code]).toEqual([
        name,
        name !== 'three.example',
        name === 'three.example' ? 'tls_failed' : null,
      ]);
    }
    expect(receiver.requests.map(({ servername, headers }) => [servername, headers.host])).toEqual(
      ['one', 'two', 'one'].map((name) => [`${name}.example`, `${name}.example:${receiver.port}`]),
    );
  });

  test('is judged anew each time, whatever connection is kept', async () => {
    const receiver = await listen(authority.issue('DNS:hooks.example'));
    const poster = createPoster([authority.cert]);
    expect(await post(receiver, 'hooks.example', poster)).toMatchObject({ success: true });
    addresses = ['169.254.169.254'];
    expect(await post(receiver, 'hooks.example', poster)).toEqual(failed('private_target'));
    expect(receiver.requests).toHaveLength(1);
  });

  test('to a server that speaks no TLS, or says nothing, fails and says which', async () => {
    const plain = await startReceiver();
    receivers.push(plain);
    expect(await post(plain, 'hooks.example')).toEqual(failed('tls_failed'));
    const silent = createServer((socket) => socket.resume());
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const { port } = silent.address() as { port: number };
    expect(await post({ port }, 'hooks.example', createPoster(undefined, 300))).toEqual(failed('timeout'));
    await closed(silent);
  });
});

const closed = (server: Server) => new Promise((done) => server.close(done));
