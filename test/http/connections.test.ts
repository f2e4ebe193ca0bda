import { connect } from 'node:net';
import type { App } from '../../src/http/request/routing';
import { NO_CALLERS } from '../support/no-callers';
import { until } from '../support/until';
import { listen, type TestServer } from './service';

const probeRoutes = (app: App) => {
  app.post('/bare', { config: { auth: 'open' } }, async (request) => ({ body: request.body ?? null }));
};

describe('a connection to the HTTP server', () => {
  async function connected(server: TestServer) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += chunk)).on('error', () => undefined);
    const closed = new Promise<string>((done) => socket.on('close', () => done(received)));
    return { socket, closed };
  }
  const head = (length: number) =>
    `POST /bare HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

  test('a body that comes byte by byte is refused, and its connection ended', async () => {
    const server = await listen({ authenticator: NO_CALLERS, routes: [probeRoutes], bodyWithinMs: 200 });
    const { socket, closed } = await connected(server);
    socket.write(head(1_000));
    const drip = setInterval(() => socket.write(' '), 20);
    const answer = await closed;
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"request_timeout"');
    expect((await server.call('POST', '/bare', { body: {} })).status).toBe(200);
    await server.app.close();
  });

  test('one that hangs up half-way leaves nothing behind', async () => {
    const server = await listen({ authenticator: NO_CALLERS, routes: [probeRoutes], bodyWithinMs: 200 });
    const { socket, closed } = await connected(server);
    socket.write(`${head(1_000)}{"half":`, () => socket.destroy());
    expect(await closed).toBe('');
    await until('the connection is gone', async () => (await connections(server)) === 0);
    expect((await server.call('POST', '/bare', { body: {} })).status).toBe(200);
    await server.app.close();
  });

  test('a connection is kept for further requests, and ended when it is idle', async () => {
    const server = await listen({ authenticator: NO_CALLERS, routes: [probeRoutes] });
    server.app.server.setTimeout(400);
    const { socket, closed } = await connected(server);
    const answered = () => new Promise((done) => socket.once('data', done));
    const begun = performance.now();
    for (let i = 0; i < 4; i++) {
      socket.write('GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n');
      await answered();
      await new Promise((done) => setTimeout(done, 150));
    }
    const idleFrom = performance.now();
    const all = await closed;
    const endedAfterMs = performance.now() - idleFrom;
    await server.app.close();
    // Requests renew it: without them it would have ended before the last one.
    expect(idleFrom - begun).toBeGreaterThan(400);
    expect(endedAfterMs).toBeGreaterThan(200);
    expect(all.match(/HTTP\/1\.1 404 /g)).toHaveLength(4);
    expect(all.match(/\r\nkeep-alive: timeout=72\r\n/g)).toHaveLength(4);
  }, 10_000);

  const connections = (server: TestServer) =>
    new Promise<number>((done) => server.app.server.getConnections((_error, count) => done(count)));
});
