/** Proves what the server does when it speaks https itself, and that a renewed certificate drops no connection. */

import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as askTls, type RequestOptions } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { request } from 'undici';
import { openHttps } from '../../src/app/https';
import { Shutdown } from '../../src/app/shutdown';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { sessionRoutes } from '../../src/http/session';
import { createLog } from '../../src/log';
import type { Sessions } from '../../src/messaging/access/sessions';
import { type Certificate, makeCertificate } from '../support/certificate';
import { until } from '../support/until';

const LOG = createLog('silent');

let first: Certificate;
let second: Certificate;
let place: string;
let app: App;
let shutdown: Shutdown;
const files = () => ({ certFile: join(place, 'cert.pem'), keyFile: join(place, 'key.pem') });
const httpOf = (tls: { certFile: string; keyFile: string }) => ({
  ...{ host: '127.0.0.1', port: 0, publicUrl: undefined, console: false, trustProxy: undefined },
  tls: { ...tls, loopbackPort: 0 },
});

function install({ certFile, keyFile }: Certificate): void {
  copyFileSync(certFile, files().certFile);
  copyFileSync(keyFile, files().keyFile);
}

beforeAll(() => {
  first = makeCertificate();
  second = makeCertificate();
});
afterAll(() => {
  first.remove();
  second.remove();
});

beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), 'fanfare-test-https-'));
  install(first);
  shutdown = new Shutdown(LOG);
  const https = await openHttps(httpOf(files()), LOG, shutdown);
  const sessions = { login: async () => ({ token: 'the-token', user: {} }) } as unknown as Sessions;
  app = await buildServer({
    authenticator: {} as never,
    log: LOG,
    tls: https?.current,
    routes: [
      (scope) => {
        scope.get('/open', { config: { auth: 'open' } }, async (asked) => ({ by: asked.protocol }));
      },
      sessionRoutes({ sessions, tls: true }),
    ],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await new Promise<void>((done) => app.loopback?.listen(0, '127.0.0.1', done));
  https?.follow(app);
});
afterEach(async () => {
  await app.close();
  await shutdown.closeAll();
  rmSync(place, { recursive: true, force: true });
});

const portOf = (server: Server | undefined) => ((server as Server).address() as AddressInfo).port;

/** Over this agent's connections, trusting both certificates. */
function ask(agent: Agent, options: RequestOptions = {}, body?: string) {
  return new Promise<{
    status: number;
    headers: Record<string, unknown>;
    text: string;
    peer: PeerCertificate;
  }>((done, fail) => {
    const asked = askTls(
      { host: '127.0.0.1', port: portOf(app.server), path: '/open', agent, ...options },
      (answer) => {
        const peer = (answer.socket as TLSSocket).getPeerCertificate();
        let text = '';
        answer.on('data', (chunk) => (text += chunk));
        answer.on('end', () => done({ status: answer.statusCode ?? 0, headers: answer.headers, text, peer }));
      },
    );
    asked.on('error', fail);
    asked.end(body);
  });
}

const trusting = (options = {}) => new Agent({ ca: [first.cert, second.cert], keepAlive: true, ...options });
const fingerprint = ({ cert }: Certificate) => new X509Certificate(cert).fingerprint256;

test('answers over https say that browsers shall use nothing else, and the session has both cookies', async () => {
  const agent = trusting();
  const answer = await ask(agent);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { by: 'https' }]);
  expect(answer.headers['strict-transport-security']).toMatch(/^max-age=31536000/);
  const body = JSON.stringify({ email: 'a@example.org', password: 'long enough' });
  const headers = { 'content-type': 'application/json' };
  const loggedIn = await ask(agent, { path: '/api/session', method: 'POST', headers }, body);
  const attributes = expect.stringMatching(/; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/);
  expect(loggedIn.headers['set-cookie']).toEqual([attributes, attributes]);
  expect(loggedIn.headers['set-cookie']).toEqual([
    expect.stringMatching(/^session_token=the-token;/),
    expect.stringMatching(/^__Host-session_token=the-token;/),
  ]);
  agent.destroy();
});

test('callers of this machine are answered without TLS on the loopback interface, and by http on the other port not', async () => {
  expect(app.loopback?.address()).toMatchObject({ address: '127.0.0.1' });
  const plain = await request(`http://127.0.0.1:${portOf(app.loopback)}/open`);
  expect([plain.statusCode, await plain.body.json()]).toEqual([200, { by: 'http' }]);
  const unknown = await request(`http://127.0.0.1:${portOf(app.loopback)}/unknown`);
  expect([unknown.statusCode, unknown.headers['content-type']]).toEqual([
    404,
    expect.stringContaining('problem+json'),
  ]);
  await unknown.body.dump();
  await expect(request(`http://127.0.0.1:${portOf(app.server)}/open`)).rejects.toThrow();
});

test('TLS 1.2 and 1.3 are spoken, and nothing older', async () => {
  const spoken = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
    new Promise<string | null>((done) => {
      const socket = connect({
        ...{ host: '127.0.0.1', port: portOf(app.server), ca: first.cert },
        ...{ minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' },
      });
      socket.once('secureConnect', () => {
        done(socket.getProtocol());
        socket.destroy();
      });
      socket.once('error', () => done(null));
    });
  expect([await spoken('TLSv1.1'), await spoken('TLSv1.2'), await spoken('TLSv1.3')]).toEqual([
    null,
    'TLSv1.2',
    'TLSv1.3',
  ]);
});

test('suites without forward secrecy or authentication are not agreed on', async () => {
  const agreed = (ciphers: string) =>
    new Promise<string | undefined>((done) => {
      const socket = connect({
        ...{ host: '127.0.0.1', port: portOf(app.server), ca: first.cert },
        ...{ maxVersion: 'TLSv1.2' as const, ciphers: `${ciphers}:@SECLEVEL=0` },
      });
      socket.once('secureConnect', () => {
        done(socket.getCipher().name);
        socket.destroy();
      });
      socket.once('error', () => done(undefined));
    });
  const asked = [
    'AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-SHA',
    'ECDHE-ECDSA-AES128-SHA',
    'DHE-RSA-AES128-GCM-SHA256',
  ];
  expect(await Promise.all(asked.map(agreed))).toEqual([undefined, undefined, undefined, undefined]);
  expect(await agreed('ECDHE')).toMatch(/^ECDHE-.*(GCM|POLY1305)/);
});

test('a renewed certificate is used for new connections, and one that was open before goes on', async () => {
  const before = trusting({ maxSockets: 1 });
  expect((await ask(before)).peer.fingerprint256).toBe(fingerprint(first));
  install(second);
  await until('new connections see the second certificate', async () => {
    const fresh = trusting();
    const { peer } = await ask(fresh);
    fresh.destroy();
    return peer.fingerprint256 === fingerprint(second);
  });
  const again = await ask(before);
  expect([again.status, again.peer.fingerprint256]).toEqual([200, fingerprint(first)]);
  before.destroy();
  // Renewing keeps what the first certificate was served with.
  const old = connect({
    host: '127.0.0.1',
    port: portOf(app.server),
    ca: second.cert,
    maxVersion: 'TLSv1.1',
  });
  await expect(
    new Promise((done, fail) => old.once('secureConnect', done).once('error', fail)),
  ).rejects.toThrow();
});

test('half of a renewal is not used', async () => {
  copyFileSync(second.certFile, files().certFile);
  await new Promise((done) => setTimeout(done, 3_000));
  const agent = trusting();
  expect((await ask(agent)).peer.fingerprint256).toBe(fingerprint(first));
  agent.destroy();
});

test('files that cannot be used end the start with one message that names the file', async () => {
  const nonsense = join(place, 'nonsense.pem');
  writeFileSync(nonsense, 'nonsense');
  const wrong = [
    [{ certFile: first.certFile, keyFile: second.keyFile }, 'is not the key of the certificate in'],
    [{ certFile: join(place, 'no.pem'), keyFile: first.keyFile }, 'no.pem cannot be read: ENOENT'],
    [{ certFile: nonsense, keyFile: first.keyFile }, 'nonsense.pem holds no certificate in PEM'],
    [{ certFile: first.certFile, keyFile: nonsense }, 'nonsense.pem holds no private key in PEM'],
  ] as const;
  for (const [tls, reason] of wrong) {
    await expect(openHttps(httpOf(tls), LOG, shutdown)).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining(reason),
      wayOut: expect.stringContaining('FANFARE_TLS_CERT'),
    });
  }
});
