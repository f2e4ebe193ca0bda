import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FanfareClient } from '../../src/client/fanfare-client';
import { clientTransport } from '../../src/client/transport';
import { reply } from '../support/reply';

interface Seen {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

describe('the client', () => {
  let server: Server;
  let url: string;
  let seen: Seen[];
  let tokens: number;
  let answer: (request: Seen, response: ServerResponse) => void;

  beforeEach(async () => {
    seen = [];
    tokens = 0;
    answer = (_, response) => reply(response, 200, { data: { id: 'cmp_1' } });
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        if (request.url === '/api/v1/auth/token') {
          reply(response, 200, { access_token: `token-${++tokens}`, valid_till: '2099-01-01 00:00:00' });
          return;
        }
        const one = { path: `${request.method} ${request.url}`, headers: request.headers, body };
        seen.push(one);
        answer(one, response);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  const client = (more: object = {}) =>
    new FanfareClient({ baseUrl: `${url}/`, clientId: 'c', clientSecret: 's', apiKey: 'k', ...more });
  /** Answers what is listed, then 200. */
  const scripted = (...next: (number | 'cut')[]) => {
    answer = (_, response) => {
      const status = next.shift() ?? 200;
      if (status === 'cut') response.destroy();
      else reply(response, status, { code: 'overloaded', data: { id: 'cmp_1' } });
    };
  };
  const CAMPAIGN = {
    name: 'C',
    channel: ['sms' as const],
    settings: { sms: { shortCode: '12345', templateId: 't', version: 1 } },
    contactListId: ['l'],
  };

  test('asks for one token however many calls wait for it', async () => {
    const one = client();
    await Promise.all([one.campaign('a'), one.campaign('b'), one.campaign('c')]);
    expect(tokens).toBe(1);
  });

  test('gets a new token when its own is refused, and asks once more', async () => {
    scripted(401);
    await client().campaign('a');
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
    scripted(401, 401);
    await expect(client().campaign('a')).rejects.toMatchObject({ status: 401 });
  });

  test('repeats what failed for the moment under the same key, and another call under another', async () => {
    scripted(503, 'cut', 500);
    const one = client();
    await one.createCampaign(CAMPAIGN);
    await one.createCampaign(CAMPAIGN);
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(5);
    expect(new Set(keys.slice(0, 4)).size).toBe(1);
    expect(keys[4]).not.toBe(keys[0]);
  });

  test.each([
    ['start', (one: FanfareClient) => one.start('cmp_1')],
    ['pause', (one: FanfareClient) => one.pause('cmp_1')],
    ['resume', (one: FanfareClient) => one.resume('cmp_1')],
    ['cancel', (one: FanfareClient) => one.cancel('cmp_1')],
    ['retry-failed', (one: FanfareClient) => one.retryFailed('cmp_1')],
    ['release', (one: FanfareClient) => one.release('cmp_1')],
    ['duplicate', (one: FanfareClient) => one.duplicate('cmp_1')],
  ])('names every %s by a key of its own, the same for its repetitions', async (action, act) => {
    scripted('cut');
    const one = client();
    await act(one);
    await act(one);
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(seen.map(({ path }) => path)).toEqual(Array(3).fill(`POST /api/campaign/cmp_1/${action}`));
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect([keys[1] === keys[0], keys[2] === keys[0]]).toEqual([true, false]);
  });

  test('names a call by the key that its caller gives, so that another process can make it again', async () => {
    const key = { idempotencyKey: 'order-4711' };
    const one = client();
    await one.createCampaign(CAMPAIGN, { ...key, country: 'US' });
    await one.retryFailed('cmp_1', { ...key, states: ['failed'] });
    await one.release('cmp_1', { ...key, stages: 2 });
    await one.duplicate('cmp_1', key);
    await one.createContactList('Customers', key);
    await one.templates.create({ channel: 'sms', templateName: 'Ready', body: 'Ready' }, key);
    await one.webhooks.create({ url: 'https://shop.example/hook', events: ['*'] }, key);
    expect(seen.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(7).fill('order-4711'));
    expect(seen.map(({ body }) => body).join()).not.toContain('order-4711');
    await one.createCampaign(CAMPAIGN, { idempotencyKey: undefined });
    expect(seen.at(-1)?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('waits for a first try that is still going on, beyond the tries that it may make', async () => {
    let left = 4;
    answer = (_, response) => {
      if (left-- === 0) reply(response, 200, { data: { id: 'cmp_1' } });
      else reply(response, 409, { code: 'idempotency_in_progress' });
    };
    await client({ retries: 1 }).start('cmp_1');
    expect(new Set(seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    left = 4;
    await expect(client({ retries: 0 }).start('cmp_1')).rejects.toMatchObject({ status: 409 });
  });

  test.each(['breaks off', 'stands still'])(
    'repeats a call whose answer %s, and says so if it stays so',
    async (how) => {
      let whole = 1;
      answer = (_, response) => {
        if (whole-- === 0) return void reply(response, 200, { data: { id: 'cmp_1' } });
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"data":', () => how === 'breaks off' && response.destroy());
      };
      const one = client({ timeoutMs: 300, retries: 1 });
      expect(await one.campaign('a')).toEqual({ id: 'cmp_1' });
      whole = -1;
      await expect(one.campaign('a')).rejects.toMatchObject({
        ...{ name: 'FanfareError', code: 'connection_lost', status: 0 },
      });
      expect(seen).toHaveLength(4);
    },
  );

  test('begins no try later than a long call allows', async () => {
    answer = (_, response) => void response.writeHead(200).write('half');
    const transport = clientTransport({ baseUrl: url, clientId: 'c', clientSecret: 's' });
    const report = {
      method: 'GET',
      path: '/report',
      timeoutMs: 200,
      retries: 12,
      triesWithinMs: 100,
    } as const;
    const read = transport.read(report, (response) => response.text());
    await expect(read).rejects.toMatchObject({ code: 'connection_lost' });
    expect(seen).toHaveLength(1);
  });

  test.each(['127.0.0.1:8080', 'localhost:8080', 'https://', ''])(
    'does not take %j for an address',
    (given) => {
      for (const option of ['baseUrl', 'sendUrl', 'authUrl']) {
        const message = `${option} must be an address such as https://fanfare.example, and is ${JSON.stringify(given)}`;
        expect(() => client({ [option]: given })).toThrow(new TypeError(message));
      }
    },
  );

  test('names the option whose variable is not set', () => {
    expect(() => client({ baseUrl: undefined })).toThrow(
      /^baseUrl must be an address such as .* is undefined$/,
    );
  });

  test('gives up after as many tries as it may make', async () => {
    scripted(503, 503, 503, 503);
    await expect(client({ retries: 2 }).campaign('a')).rejects.toMatchObject({ status: 503 });
    expect(seen).toHaveLength(3);
  });

  test('tells what a refusal says, and does not repeat it', async () => {
    const errors = [
      { path: 'name', code: 'required', message: 'This field is required' },
      { path: 'channel', code: 'required', message: 'This field is required' },
    ];
    answer = (_, response) =>
      reply(response, 422, { code: 'invalid_request', detail: 'name: required', errors });
    await expect(client().createCampaign(CAMPAIGN)).rejects.toMatchObject({
      name: 'FanfareError',
      code: 'invalid_request',
      status: 422,
      errors,
    });
    answer = (_, response) =>
      reply(response, 409, { code: 'illegal_transition', detail: 'no', phase: 'draft', instance: 'req-1' });
    await expect(client().pause('cmp_1')).rejects.toMatchObject({ phase: 'draft', requestId: 'req-1' });
    answer = (_, response) => {
      response.setHeader('x-request-id', 'req-2');
      reply(response, 403, { code: 'scope_missing', detail: 'no', scope: 'send' });
    };
    await expect(client().start('cmp_1')).rejects.toMatchObject({ scope: 'send', requestId: 'req-2' });
    answer = (_, response) =>
      reply(response, 429, { code: 'outbox_full', detail: 'full' }, { 'retry-after': '3600' });
    await expect(client().campaign('a')).rejects.toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
    expect(seen).toHaveLength(4);
  });

  test('stops when its caller does also while it waits for a token', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const authUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const signal = AbortSignal.timeout(100);
    try {
      await expect(client({ authUrl }).campaign('a', { signal })).rejects.toMatchObject({
        name: 'TimeoutError',
      });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  }, 5_000);

  test('stops when its caller does', async () => {
    const stop = new AbortController();
    answer = () => stop.abort();
    await expect(client().campaign('a', { signal: stop.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(seen).toHaveLength(1);
  });

  test('watches over a connection that broke, from where it was, and ends with the campaign', async () => {
    const event = (id: string, phase: string) =>
      `id: ${id}\nevent: progress\ndata: ${JSON.stringify({ id: 'cmp_1', phase })}\n\n`;
    answer = ({ headers }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (headers['last-event-id'] === undefined) {
        response.write(`retry: 10\n\n: still here\n\n${event('e1', 'running')}`);
        setImmediate(() => response.destroy());
      } else response.end(event('e2', 'completed'));
    };
    const phases: string[] = [];
    for await (const { phase } of client().watch('cmp_1')) phases.push(phase);
    expect(phases).toEqual(['running', 'completed']);
    expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'e1']);
  });

  test('reads recipients page by page', async () => {
    answer = ({ path }, response) => {
      const isSecond = path.includes('cursor=next');
      reply(response, 200, { data: [{ id: isSecond ? 'b' : 'a' }], next: isSecond ? null : 'next' });
    };
    const ids: string[] = [];
    for await (const { id } of client().recipients('cmp_1', { state: 'failed' })) ids.push(id);
    expect(ids).toEqual(['a', 'b']);
    expect(seen[0]?.path).toBe('GET /api/campaign/cmp_1/recipients?limit=1000&state=failed');
  });

  test('reads runs page by page', async () => {
    answer = ({ path }, response) => {
      const isSecond = path.includes('cursor=next');
      reply(response, 200, { data: [{ number: isSecond ? 1 : 2 }], next: isSecond ? null : 'next' });
    };
    const numbers: number[] = [];
    for await (const { number } of client().runs('cmp_1')) numbers.push(number);
    expect(numbers).toEqual([2, 1]);
    expect(seen[0]?.path).toBe('GET /api/campaign/cmp_1/runs?limit=100');
  });

  test('sends a stream of contacts as it comes, and one that can be opened again after a failure', async () => {
    async function* csv() {
      yield 'email\n';
      yield new TextEncoder().encode('ann@example.com\n');
    }
    const wanted = 'email\nann@example.com\n';
    await client().importContacts('lst', csv(), { country: 'US' });
    expect(seen[0]).toMatchObject({ path: 'POST /api/contact-list/lst/contacts?country=US', body: wanted });
    scripted(503);
    await client().importContacts('lst', csv);
    expect(seen.slice(1).map(({ body }) => body)).toEqual([wanted, wanted]);
  });

  test('does not send the next stream under a token that was refused', async () => {
    async function* csv() {
      yield 'email\n';
    }
    scripted(401);
    const one = client();
    await expect(one.importContacts('lst', csv())).rejects.toMatchObject({ status: 401 });
    await one.importContacts('lst', csv());
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('says that a file broke off, which it cannot read again', async () => {
    answer = (_, response) => void response.writeHead(200).write('contactId\n', () => response.destroy());
    const read: Uint8Array[] = [];
    const reading = async () => {
      for await (const bytes of client().campaigns.exportRecipients('cmp_1')) read.push(bytes);
    };
    await expect(reading()).rejects.toMatchObject({
      name: 'FanfareError',
      code: 'connection_lost',
      status: 0,
    });
    expect([Buffer.concat(read).toString(), seen.length]).toEqual(['contactId\n', 1]);
  });

  test.each([
    ['that is a function', (rows: () => AsyncIterable<{ phone: string }>) => rows],
    ['that is an iterator', (rows: () => AsyncIterable<{ phone: string }>) => rows()],
  ])('fails with the error of a source %s, and does not read it again', async (_, as) => {
    const lost = new Error('the database of orders is away');
    let opened = 0;
    async function* rows() {
      opened++;
      yield { phone: '+12025550123' };
      throw lost;
    }
    await expect(client().appendRecipients('cmp_1', as(rows))).rejects.toBe(lost);
    expect(opened).toBe(1);
    const missing = client().importContacts('lst', () => createReadStream('/no/such/file.csv'));
    await expect(missing).rejects.toMatchObject({ code: 'ENOENT' });
    const unwritable = [{ phone: '+12025550123', params: { TOTAL: 5n as unknown as number } }];
    await expect(client().appendRecipients('cmp_1', unwritable)).rejects.toThrow(TypeError);
  });

  test('adds recipients to a campaign as they come, one a line', async () => {
    async function* rows() {
      yield { phone: '+12025550123', params: { CODE: 'a' } };
      yield { email: 'ann@example.com' };
    }
    const wanted = '{"phone":"+12025550123","params":{"CODE":"a"}}\n{"email":"ann@example.com"}\n';
    await client().appendRecipients('cmp_1', rows(), { country: 'US' });
    expect(seen[0]).toMatchObject({ path: 'POST /api/campaign/cmp_1/recipients?country=US', body: wanted });
    scripted(503);
    await client().appendRecipients('cmp_1', rows);
    await client().appendRecipients('cmp_1', [{ email: 'ann@example.com' }]);
    expect(seen.slice(1).map(({ body }) => body)).toEqual([wanted, wanted, '{"email":"ann@example.com"}\n']);
  });

  test('asks to send again to those in the states that are named', async () => {
    await client().retryFailed('cmp_1', { states: ['failed'] });
    expect(seen[0]).toMatchObject({
      path: 'POST /api/campaign/cmp_1/retry-failed',
      body: '{"states":["failed"]}',
    });
  });

  test('lets go as many stages as are named', async () => {
    for (const options of [{ stages: 'all' as const }, { stages: 0 }, {}])
      await client().release('cmp_1', options);
    expect(seen[0]?.path).toBe('POST /api/campaign/cmp_1/release');
    expect(seen.map(({ body }) => body)).toEqual(['{"stages":"all"}', '{"stages":0}', '{}']);
  });

  test('asks about a person without what is not given', async () => {
    const person = { to: '+12025550123', channel: undefined, runId: undefined };
    await client().explain('cmp_1', person as { to: string });
    expect(seen[0]?.path).toBe('GET /api/explain?campaign=cmp_1&to=%2B12025550123');
  });
});
