/** Proves that a failed TLS handshake leaves no message in doubt. */

import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { openGateway } from '../../src/gateway/http-gateway';
import { makeAuthority } from '../support/authority';

const MESSAGE = {
  channel: 'sms' as const,
  to: '+12025550100',
  from: '12345',
  templateId: 'tpl_1',
  version: 1,
  params: {},
  campaign: 'cmp_1',
};

async function listen(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('knows that a service with which no TLS could be agreed on has got nothing', async () => {
  const tokens = createServer((_, response) =>
    response.end(JSON.stringify({ access_token: 't', valid_till: '2099-01-01 00:00:00' })),
  );
  const url = `http://${await listen(tokens)}`;
  const authority = makeAuthority();
  const untrusted = createTlsServer(authority.issue('IP:127.0.0.1'), (_, response) => response.end());
  const noTls = createTcpServer((socket) => socket.end('220 not HTTP at all\r\n'));
  const gone = createTcpServer((socket) => socket.destroy());
  for (const peer of [untrusted, noTls, gone]) {
    const gateway = openGateway({
      authUrl: url,
      sendUrl: `https://${await listen(peer)}`,
      appUrl: url,
      clientId: 'cli',
      clientSecret: 's:cret',
      apiKey: 'key',
    });
    const answers = await gateway.send([
      { ...MESSAGE, uid: 'a' },
      { ...MESSAGE, uid: 'b' },
    ]);
    expect(answers).toMatchObject([{ because: 'down' }, { because: 'down' }]);
    await gateway.close();
    peer.close();
  }
  untrusted.closeAllConnections();
  tokens.closeAllConnections();
  tokens.close();
  authority.remove();
});
