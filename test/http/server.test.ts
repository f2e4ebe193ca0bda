/** Proves the server’s general behaviour: errors, limits, headers and shutdown. */

import { Agent, request as httpRequest, METHODS } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { DomainError } from '../../src/domain/errors';
import { healthRoutes } from '../../src/http/health';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import { NO_CALLERS } from '../support/no-callers';
import { until } from '../support/until';
import { listen, type TestServer } from './service';

const open = { auth: 'open' } as const;

function probeRoutes(app: App): void {
  const body = z.strictObject({
    name: z.string().min(2),
    settings: z.object({ sms: z.object({ templateId: z.string() }) }),
    tags: z.array(z.number()).optional(),
  });
  app.post('/probe', { config: open, schema: { body } }, async (request) => request.body);
  app.get(
    '/probe',
    { config: open, schema: { querystring: z.object({ q: z.string().optional() }) } },
    async (r) => r.query,
  );
  app.post('/bare', { config: open }, async (request) => ({ body: request.body ?? null }));
  app.post('/large', { config: open, bodyLimit: 4 * 1024 * 1024 }, async () => ({ taken: true }));
  app.put('/things/:id.csv', { config: open }, async () => ({}));
  app.get(
    '/things/:id',
    { config: open, schema: { params: z.object({ id: z.string().max(8) }) } },
    async (r) => r.params,
  );
  app.get('/broken', { config: open }, async () => {
    throw new Error('the secret of row 17');
  });
  app.get('/busy', { config: open }, async () => {
    throw new DomainError('outbox_full', 'Wait a little', { retryAfterSeconds: 2.5 });
  });
}

describe('the HTTP server', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await listen({
      authenticator: NO_CALLERS,
      routes: [probeRoutes, healthRoutes(async () => ({ a: true }))],
    });
  });
  afterAll(() => server.app.close());

  const valid = { name: 'Ada', settings: { sms: { templateId: 't' } } };

  test('an error has the members of RFC 9457 and of the specification', async () => {
    const { status, headers, body } = await server.call('GET', '/nowhere');
    expect(status).toBe(404);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(body).toEqual({
      type: '/docs/errors#not_found',
      title: 'Not found',
      status: 404,
      code: 'not_found',
      detail: 'There is nothing at this path; /openapi.json lists all of them',
      instance: headers['x-request-id'],
      errors: [],
      result: 'error',
      message: 'There is nothing at this path; /openapi.json lists all of them',
      success: false,
    });
  });

  test('a sane request id is echoed, any other is replaced, on every kind of answer', async () => {
    for (const path of ['/healthz', '/nowhere', '/broken', '/%zz', '/probe']) {
      const method = path === '/probe' ? 'DELETE' : 'GET';
      const echoed = await server.call(method, path, { headers: { 'x-request-id': 'abc-1.2_3' } });
      expect(echoed.headers['x-request-id']).toBe('abc-1.2_3');
      const made = await server.call(method, path, { headers: { 'x-request-id': 'not sane' } });
      expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test('a trailing slash makes no difference', async () => {
    expect((await server.call('GET', '/healthz/')).body).toEqual({ status: 'ok' });
    expect((await server.call('GET', '/things/x/?y=1')).body).toEqual({ id: 'x' });
  });

  test('a known path with another method is 405 and says which it takes', async () => {
    const wrong = await server.call('PUT', '/probe/?x=1', { body: valid });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.allow).toBe('GET, HEAD, POST');
    expect(wrong.body.code).toBe('method_not_allowed');
    expect((await server.call('POST', '/things/a%20b.csv', { body: {} })).headers.allow).toBe(
      'GET, HEAD, PUT',
    );
  });

  test('TRACE is answered like any method that is not there', async () => {
    const answer = await new Promise<string>((done, fail) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      socket.on('end', () => done(text)).on('error', fail);
      socket.write('TRACE /healthz HTTP/1.1\r\nhost: a\r\nx-mine: seen\r\nconnection: close\r\n\r\n');
    });
    expect(answer).toMatch(/^HTTP\/1\.1 (404|405) /);
    expect(answer).not.toContain('seen');
  });

  test('without a route, an invalid body is not reported', async () => {
    const answers = await Promise.all([
      server.call('PUT', '/probe', { body: '{"name":' }),
      server.call('POST', '/nowhere', { body: 'x', type: 'nonsense' }),
      server.call('DELETE', '/probe', { body: 'x'.repeat(2 * 1024 * 1024) }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([405, 404, 405]);
  });

  test.each([
    ['what is no request', 'Hello there\r\n\r\n', 400, 'malformed_request'],
    [
      'headers that are too long',
      `GET /probe HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    // Only newer parsers know it, and the framework wants a body with it.
    [
      'a method that is rarely heard of',
      'QUERY /probe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ...(METHODS.includes('QUERY')
        ? ([405, 'method_not_allowed'] as const)
        : ([400, 'malformed_request'] as const)),
    ],
  ])('%s is answered like everything else', async (_what, sent, status, code) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answer = '';
    const closed = new Promise((done) => socket.on('close', done));
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.on('data', (text) => {
      answer += text;
    });
    socket.write(sent);
    await closed;
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain('content-type: application/problem+json');
    const id = /x-request-id: (\S+)/.exec(head)?.[1];
    expect(JSON.parse(body)).toMatchObject({ status, code, instance: id, result: 'error', success: false });
  });

  test('a path that is no path and an id that cannot be one are 404', async () => {
    for (const path of ['/%zz', '/things/%ff']) {
      const { body, headers } = await server.call('GET', path);
      expect(body.code).toBe('not_found');
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    }
    expect((await server.call('GET', '/things/longer-than-eight')).body.code).toBe('not_found');
    expect((await server.call('GET', `/things/${'9'.repeat(400)}`)).body.code).toBe('not_found');
  });

  test('every finding about a body is reported at once', async () => {
    const body = { name: 'A', settings: { sms: {} }, tags: [1, 'x'], extra: 1 };
    const answer = await server.call('POST', '/probe', { body });
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('invalid_request');
    expect(answer.body.errors.map((e: { path: string; code: string }) => [e.path, e.code])).toEqual([
      ['name', 'too_small'],
      ['settings.sms.templateId', 'required'],
      ['tags.1', 'invalid_type'],
      ['extra', 'unknown_field'],
    ]);
    expect(answer.body.detail).toMatch(/^name: .* \(and 3 more\)$/);
  });

  test.each([
    ['text that is not JSON', '{"name":'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['an empty body', ''],
    ['a key that reaches for the prototype', '{"__proto__": {"a": 1}}'],
  ])('%s is 400', async (_what, body) => {
    const answer = await server.call('POST', '/probe', { body });
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_body']);
  });

  test('no body at all is 400 where one is needed and fine where none is', async () => {
    expect((await server.call('POST', '/probe')).body.code).toBe('malformed_body');
    expect((await server.call('POST', '/bare')).body).toEqual({ body: null });
    expect((await server.call('POST', '/bare', { body: '' })).body).toEqual({ body: null });
  });

  test('a byte order mark before JSON is ignored', async () => {
    expect((await server.call('POST', '/probe', { body: `\ufeff${JSON.stringify(valid)}` })).body).toEqual(
      valid,
    );
  });

  test.each([
    ['{"name":"Ada","name":"Eve"}', 'name'],
    ['{"a":[{"b":1},{"b":2,"c":{"x":1,"\\u0078":2}}]}', 'x'],
    [`{"${'k'.repeat(100)}":1,"${'k'.repeat(100)}":2}`, 'k'.repeat(64)],
  ])('an object with the same key twice is refused, since readers differ about it: %s', async (body, key) => {
    const answer = await server.call('POST', '/bare', { body });
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_body']);
    expect(answer.body.detail).toBe(`The body has an object with two keys "${key}"`);
  });

  test('keys that are alike in different objects, and colons and quotes in texts, are no repetition', async () => {
    const body = {
      a: { 'x:"': 1, '\\': 'y": "y' },
      b: [{ a: 1 }, { a: ':\\"' }],
      '': { '': '{"a":1,"a":2}' },
      'a\\"': 0,
    };
    expect((await server.call('POST', '/bare', { body })).body).toEqual({ body });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'nonsense',
  ])('a body of type %s is 415', async (type) => {
    const answer = await server.call('POST', '/probe', { body: JSON.stringify(valid), type });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  test('a compressed body is 415, and says how to send it', async () => {
    const body = gzipSync(JSON.stringify(valid));
    const answer = await server.call('POST', '/probe', { body, headers: { 'content-encoding': 'gzip' } });
    expect([answer.status, answer.body.detail]).toEqual([
      415,
      'No compressed body is taken; send it without content-encoding',
    ]);
  });

  test('a body over the limit is 413, and a route may have a limit of its own', async () => {
    const large = JSON.stringify({ text: 'x'.repeat(1024 * 1024) });
    const refused = await server.call('POST', '/bare', { body: large });
    expect([refused.status, refused.body.code]).toEqual([413, 'body_too_large']);
    expect((await server.call('POST', '/large', { body: large })).body).toEqual({ taken: true });
  });

  test('who still writes a body that is too large is answered, and the connection goes on', async () => {
    const length = 12 * 1024 * 1024;
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answers = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answers += text;
    });
    const head = 'Host: 127.0.0.1\r\nContent-Type: application/json\r\n';
    socket.write(`POST /bare HTTP/1.1\r\n${head}Content-Length: ${length}\r\n\r\n{`);
    await until('it is refused', () => answers.includes('"body_too_large"'));
    socket.write(Buffer.alloc(length - 1, 'x'));
    socket.write(`GET /probe HTTP/1.1\r\n${head}\r\n`);
    await until('the next request is answered', () => (answers.match(/HTTP\/1\.1 /g) ?? []).length === 2);
    socket.destroy();
  });

  test('text that no database keeps is refused by field, wherever it stands', async () => {
    const answer = await server.call('POST', '/probe', {
      body: { ...valid, settings: { sms: { templateId: 'a\0b' } } },
    });
    expect([answer.status, answer.body.errors[0].path]).toEqual([422, 'settings.sms.templateId']);
    const half = await server.call('POST', '/bare', { body: '{"a":["ok","\\ud800"]}' });
    expect([half.status, half.body.errors[0].path]).toEqual([422, 'a.1']);
    expect((await server.call('GET', '/probe?q=%00')).status).toBe(422);
    expect((await server.call('GET', '/things/a%00b')).status).toBe(404);
    const whole = await server.call('POST', '/bare', { body: '{"a":"\\ud83c\\udf89 \\\\u0000"}' });
    expect(whole.body).toEqual({ body: { a: '🎉 \\u0000' } });
  });

  test('a body of a hundred thousand brackets is answered, not a crash', async () => {
    const deep = `${'['.repeat(100_000)}"\\u0000"${']'.repeat(100_000)}`;
    expect((await server.call('POST', '/bare', { body: deep })).status).toBe(422);
  });

  test('an unexpected error is 500 and shows no internal details', async () => {
    const { status, body } = await server.call('GET', '/broken');
    expect([status, body.code]).toEqual([500, 'internal']);
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  test('an answer that says to wait says how long, in whole seconds', async () => {
    const { status, headers } = await server.call('GET', '/busy');
    expect([status, headers['retry-after']]).toEqual([429, '3']);
  });

  test('a route that does not say who may call it cannot be added', async () => {
    const careless = (app: App) => void app.get('/careless', async () => ({}));
    const building = buildServer({ authenticator: NO_CALLERS, log: createLog('silent'), routes: [careless] });
    await expect(building).rejects.toThrow('/careless');
  });

  test('a route whose own hook would run before its caller is known cannot be added', async () => {
    const hasty = (app: App) =>
      void app.get(
        '/hasty',
        { config: { auth: 'app', access: { role: 'viewer' } }, onRequest: (_q, _r, done) => done() },
        async () => ({}),
      );
    const building = buildServer({ authenticator: NO_CALLERS, log: createLog('silent'), routes: [hasty] });
    await expect(building).rejects.toThrow('/hasty has a hook');
  });

  test('readiness names what is missing, and leaves the log to those who met it', async () => {
    const log = createLog('silent');
    const warn = jest.spyOn(log, 'warn');
    const partly = await listen({
      ...{ authenticator: NO_CALLERS, log },
      routes: [healthRoutes(async () => ({ database: true, temporal: false }))],
    });
    const answer = await partly.call('GET', '/readyz');
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toEqual(['temporal']);
    expect(warn).not.toHaveBeenCalled();
    await partly.app.close();
    expect((await server.call('GET', '/readyz')).body).toEqual({
      status: 'ready',
      checks: { a: true },
      accounts: [],
    });
  });
});

describe('closing the HTTP server', () => {
  test('lets a request in progress finish, and does not wait for idle or silent clients', async () => {
    let begun: () => void = () => undefined;
    const beginning = new Promise<void>((done) => {
      begun = done;
    });
    let finish: () => void = () => undefined;
    const finishing = new Promise<void>((done) => {
      finish = done;
    });
    const slow = (app: App) => {
      app.get('/slow', { config: open }, async () => {
        begun();
        await finishing;
        return { finished: true };
      });
    };
    const server = await listen({
      authenticator: NO_CALLERS,
      routes: [slow, healthRoutes(async () => ({}))],
    });
    const agent = new Agent({ keepAlive: true });
    await new Promise((done) => {
      httpRequest(`${server.url}/healthz`, { agent }, (answer) => answer.resume().on('end', done)).end();
    });
    const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
    const cut = new Promise((done) => silent.on('close', done).on('error', () => undefined));
    silent.write('GET /slow HTTP/1.1\r\n');

    const answer = server.call('GET', '/slow');
    await beginning;
    const closing = server.app.close();
    finish();
    expect((await answer).body).toEqual({ finished: true });
    await closing;
    await cut;
    agent.destroy();
  }, 10_000);

  test('cuts a request that does not end', async () => {
    const server = await listen({
      authenticator: NO_CALLERS,
      routes: [(app) => void app.get('/endless', { config: open }, () => new Promise(() => undefined))],
    });
    const answer = server.call('GET', '/endless').then(
      () => 'answered',
      () => 'cut',
    );
    await new Promise<void>((done) => {
      const look = () =>
        server.app.server.getConnections((_error, count) => (count > 0 ? done() : setImmediate(look)));
      look();
    });
    await server.app.close();
    expect(await answer).toBe('cut');
  }, 10_000);
});
