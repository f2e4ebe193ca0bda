import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { openTransport } from '../../src/gateway/transport';

test.each([
  ['comes byte by byte', (response: ServerResponse) => response.write(' ')],
  ['is put off again and again', (response: ServerResponse) => response.writeProcessing()],
])('a request whose answer %s ends in time, and may have been accepted', async (_, drip) => {
  let timer: NodeJS.Timeout | undefined;
  const server = createServer((_request, response) => {
    timer = setInterval(() => drip(response), 100);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const transport = openTransport(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1);
  const answer = transport.request('POST', '/send-msg', { body: '{}', timeoutMs: 1_000 });
  const outcome = answer.catch((error: unknown) => error);
  const late = delay(4_000, 'still waiting', { ref: false });
  expect(await Promise.race([outcome, late])).toMatchObject({ name: 'NoAnswer', offered: true });
  clearInterval(timer);
  server.closeAllConnections();
  server.close();
  await transport.close();
});
