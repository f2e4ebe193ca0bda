/** Proves that a kept connection which the endpoint has closed costs no attempt. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createWebhookPoster, type WebhookPoster } from '../../../src/messaging/webhooks/post';
import { createTargetGuard } from '../../../src/messaging/webhooks/target-guard';

describe('a post over a kept connection', () => {
  const connections = new Set<Socket>();
  let server: Server;
  let url: string;
  let poster: WebhookPoster;
  let answers: boolean;

  beforeEach(async () => {
    answers = true;
    server = createServer((request, response) => {
      if (!answers) request.socket.destroy();
      else request.resume().on('end', () => response.end('taken'));
    });
    server.on('connection', (connection) => connections.add(connection));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    poster = createWebhookPoster(createTargetGuard({ allowPrivate: true }), 5_000);
    expect(await poster.post(url, {}, 'first')).toMatchObject({ success: true });
  });
  afterEach(() => {
    poster.close();
    server.closeAllConnections();
    server.close();
    connections.clear();
  });

  const close = () => {
    for (const connection of connections) connection.destroy();
  };

  // A long body is still being written when the end of the connection is found, which is EPIPE in place of ECONNRESET.
  test.each([
    ['short', 10],
    ['long', 4_000_000],
  ])('that the endpoint has closed is made again on a new one: a %s body', async (_, bytes) => {
    close();
    expect(await poster.post(url, {}, 'x'.repeat(bytes))).toMatchObject({ success: true, code: null });
    expect(connections.size).toBe(2);
  });

  test('that is lost again on the new one has failed', async () => {
    answers = false;
    close();
    expect(await poster.post(url, {}, 'x')).toMatchObject({ success: false, code: 'econnreset' });
    expect(connections.size).toBe(2);
  });
});
