/** Proves how further documents of a call are fetched, and which addresses are refused. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITS } from '../../src/domain/limits';
import type { DocumentRequest } from '../../src/domain/voice/call-documents';
import { createCallDocuments } from '../../src/messaging/call-documents';
import { createTargetGuard, type Resolve } from '../../src/messaging/webhooks/target-guard';

const XML = '<Response><Say>Grüße.</Say></Response>';

let server: Server;
let origin: string;
let requests: { method: string; url: string; body: string; type: string | undefined; host: string }[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  requests = [];
  answer = (_, response) => response.end(XML);
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({
        method: request.method ?? '',
        url: request.url ?? '',
        body: Buffer.concat(chunks).toString(),
        type: request.headers['content-type'],
        host: request.headers.host ?? '',
      });
      answer(request, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const documentsOf = (allowPrivate: boolean, answerMs?: number, resolve?: Resolve) =>
  createCallDocuments(createTargetGuard({ allowPrivate, resolve }), answerMs);
const fetch = (request: Partial<DocumentRequest> = {}, answerMs?: number) =>
  documentsOf(true, answerMs).fetch({
    url: `${origin}/a?b=c`,
    method: 'POST',
    fields: { Digits: '1 2' },
    ...request,
  });

test('a document is requested by POST, with its fields as a form', async () => {
  expect(await fetch()).toEqual({ url: `${origin}/a?b=c`, text: XML });
  expect(requests).toMatchObject([
    { method: 'POST', url: '/a?b=c', body: 'Digits=1+2', type: 'application/x-www-form-urlencoded' },
  ]);
});

test('or by GET, with it in the query', async () => {
  expect(await fetch({ method: 'GET' })).toMatchObject({ text: XML });
  expect(requests).toMatchObject([{ method: 'GET', url: '/a?b=c&Digits=1+2', body: '', type: undefined }]);
});

test('a redirection of HTTP is followed, and the document is where it came from', async () => {
  answer = ({ url }, response) => {
    if (url === '/there') response.end(XML);
    else response.writeHead(url === '/keeps' ? 307 : 302, { location: '/there' }).end();
  };
  expect(await fetch({ url: `${origin}/keeps` })).toEqual({ url: `${origin}/there`, text: XML });
  expect(requests.map(({ method, body }) => [method, body])).toEqual([
    ['POST', 'Digits=1+2'],
    ['POST', 'Digits=1+2'],
  ]);
  requests = [];
  expect(await fetch({ url: `${origin}/forgets` })).toMatchObject({ text: XML });
  expect(requests.map(({ method, body }) => [method, body])).toEqual([
    ['POST', 'Digits=1+2'],
    ['GET', ''],
  ]);
});

test('redirections in a circle end', async () => {
  answer = (_, response) => response.writeHead(302, { location: '/again' }).end();
  expect(await fetch()).toEqual({ problem: 'document_redirects' });
  expect(requests).toHaveLength(LIMITS.callDocumentHops + 1);
});

test.each([404, 500, 204])('an answer with %i and nothing in it is no document', async (status) => {
  answer = (_, response) => response.writeHead(status).end();
  expect(await fetch()).toEqual(
    status === 204 ? { url: `${origin}/a?b=c`, text: '' } : { problem: `document_${status}` },
  );
});

test('one that is too large is not read to its end', async () => {
  let written = 0;
  answer = (_, response) => {
    const more = () => {
      while (!response.destroyed) {
        written += 65_536;
        if (!response.write(Buffer.alloc(65_536, 0x20))) return void response.once('drain', more);
      }
    };
    more();
  };
  expect(await fetch()).toEqual({ problem: 'document_too_large' });
  expect(written).toBeLessThan(64 * LIMITS.callDocumentBytes);
});

test('one that is not UTF-8 is none', async () => {
  answer = (_, response) => response.end(Buffer.from(XML, 'latin1'));
  expect(await fetch()).toEqual({ problem: 'invalid_document' });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['never begins', () => undefined],
  ['never ends', (response) => response.write('<Response>')],
])('one that %s is waited for no longer than allowed', async (_, begin) => {
  answer = (_request, response) => begin(response);
  expect(await fetch({}, 300)).toEqual({ problem: 'document_timeout' });
});

test('a silent resolver is waited for no longer than the limit, and the caller may give up', async () => {
  const silent = documentsOf(true, 300, () => new Promise(() => undefined));
  const request = { url: 'http://flows.example/a', method: 'GET', fields: {} } as const;
  expect(await silent.fetch(request)).toEqual({ problem: 'document_timeout' });
  answer = () => undefined;
  const giveUp = new AbortController();
  const asked = documentsOf(true).fetch({ ...request, url: `${origin}/a` }, giveUp.signal);
  giveUp.abort();
  expect(await asked).toEqual({ problem: 'document_timeout' });
});

test('a broken or refused connection has its own code', async () => {
  answer = (request) => request.socket.destroy();
  expect(await fetch()).toEqual({ problem: 'document_unreachable' });
  expect(await fetch({ url: 'http://127.0.0.1:1/a' })).toEqual({ problem: 'document_unreachable' });
});

describe('where it may lead', () => {
  const asks = { method: 'GET', fields: {} } as const;

  test('not to this machine or a private network, by address or by name, unless that is allowed', async () => {
    const strict = documentsOf(false, undefined, async () => ['10.0.0.1']);
    for (const url of [`${origin}/a`, 'http://localhost/a', 'http://[::1]/a', 'http://inside.example/a']) {
      expect(await strict.fetch({ ...asks, url })).toEqual({ problem: 'document_refused' });
    }
    expect(requests).toEqual([]);
    expect(await documentsOf(true).fetch({ ...asks, url: 'http://169.254.169.254/latest' })).toEqual({
      problem: 'document_refused',
    });
  });

  test('not there by a redirection either', async () => {
    answer = (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
    expect(await fetch()).toEqual({ problem: 'document_refused' });
    answer = (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    expect(await fetch()).toEqual({ problem: 'document_address' });
  });

  test('to the address that was judged, under the name that was asked for', async () => {
    const { port } = server.address() as AddressInfo;
    const named = documentsOf(true, undefined, async () => ['127.0.0.1']);
    const url = `http://flows.example:${port}/a`;
    expect(await named.fetch({ ...asks, url })).toEqual({ url, text: XML });
    expect(requests[0]?.host).toBe(`flows.example:${port}`);
  });

  test('not with a password, which a document is no place for', async () => {
    expect(await fetch({ url: origin.replace('//', '//ann:secret@') })).toEqual({
      problem: 'document_address',
    });
    expect(requests).toEqual([]);
  });
});
