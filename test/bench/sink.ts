import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A messaging service that knows only the specification's endpoints and does nothing: it reads what it is
 * sent, counts it, and says yes. A process of its own, forked: told `look` it tells what it has counted.
 */
export interface SinkCounts {
  messages: number;
  /** Milliseconds since the epoch. */
  firstAt: number;
  lastAt: number;
}

const TEMPLATE = {
  id: 'tpl_1',
  templateName: 'bench',
  channel: 'sms',
  createdAt: '2026-01-01T00:00:00.000Z',
};
const TOKEN = { access_token: 'bench', valid_till: '2099-01-01 00:00:00' };
const LIST = {
  success: true,
  templates: [{ ...TEMPLATE, body: 'Hello {{NAME}}' }],
  page: 1,
  pageSize: 20,
  total: 1,
};

const TAKEN = '{"result":"success"}';
const HEADERS = { 'content-type': 'application/json' };
const counts: SinkCounts = { messages: 0, firstAt: 0, lastAt: 0 };

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.url === '/send-msg') {
      counts.lastAt = Date.now();
      counts.firstAt ||= counts.lastAt;
      counts.messages += 1;
      response.writeHead(202, HEADERS).end(TAKEN);
    } else answer(request.url ?? '', response);
  });
});

function answer(url: string, response: ServerResponse): void {
  if (url === '/api/v1/auth/token') response.writeHead(200, HEADERS).end(JSON.stringify(TOKEN));
  else if (url.startsWith('/api/template/?')) response.writeHead(200, HEADERS).end(JSON.stringify(LIST));
  else response.writeHead(404, HEADERS).end('{}');
}

process.on('message', (message) => {
  if (message === 'look') process.send?.(counts);
  if (message === 'forget') Object.assign(counts, { messages: 0, firstAt: 0, lastAt: 0 });
});
process.once('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
