import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Gateway, OutgoingMessage } from '../../src/gateway/gateway';
import { type GatewayOptions, openGateway } from '../../src/gateway/http-gateway';
import { reply } from '../support/reply';
import { messages } from './messages';

/** As the gateway tries another token when each was refused. */
const TOKEN_RETRY_MS = 1_000;

/** A service scripted per test; it notes every request it sees. */
interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

describe('the gateway to the messaging service', () => {
  let access: GatewayOptions;
  let server: Server;
  let gateway: Gateway;
  let seen: Seen[];
  let answer: (request: Seen, response: ServerResponse) => void;
  let tokens: number;
  let tokenAnswer: () => Record<string, unknown>;

  beforeEach(async () => {
    seen = [];
    tokens = 0;
    tokenAnswer = () => ({
      access_token: `token-${tokens}`,
      valid_till: '2099-01-01 00:00:00',
      capabilities: [],
    });
    answer = (_, response) => reply(response, 202, { data: { state: 'accepted' } });
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        const body = text ? (JSON.parse(text) as Record<string, unknown>) : {};
        const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
        seen.push(one);
        if (one.path === '/api/v1/auth/token') {
          tokens++;
          reply(response, 200, tokenAnswer());
        } else answer(one, response);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    access = {
      authUrl: url,
      sendUrl: url,
      appUrl: url,
      clientId: 'cli',
      clientSecret: 's:cret',
      apiKey: 'key',
    };
    gateway = openGateway(access);
  });

  afterEach(async () => {
    await gateway.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  const calls = (path: string) => seen.filter((request) => request.path.startsWith(path));

  test('asks for one token, however many calls wait for it', async () => {
    await gateway.send(messages(60));
    expect(tokens).toBe(1);
    expect(calls('/api/v1/auth/token')[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('cli:s:cret').toString('base64')}`,
    );
    expect(calls('/send-msg')[0]?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'x-api-key': 'key',
    });
  });

  test('asks whether a campaign is held, and takes a service that cannot say it for one that does not', async () => {
    answer = (_, response) => reply(response, 200, { data: { campaign: 'a/b', held: true } });
    expect(await gateway.isHeld('a/b')).toBe(true);
    expect(calls('/holds/a%2Fb')).toHaveLength(1);
    for (const status of [404, 405]) {
      answer = (_, response) => reply(response, status, {});
      expect(await gateway.isHeld('a/b')).toBe(false);
    }
    answer = (_, response) => reply(response, 500, {});
    await expect(gateway.isHeld('a/b')).rejects.toThrow('GET /holds');
  });

  test('fetches a new token before the old one ends', async () => {
    tokenAnswer = () => ({
      access_token: `token-${tokens}`,
      valid_till: utc(Date.now() + 1000),
      expires_in: 1.1,
    });
    await gateway.send(messages(1));
    await new Promise((done) => setTimeout(done, 1_010));
    await gateway.send(messages(1));
    expect(tokens).toBe(2);
  });

  test('replaces a refused token once, and then believes the refusal', async () => {
    answer = ({ headers }, response) =>
      reply(response, headers.authorization === 'Bearer token-1' ? 401 : 202, {});
    expect(await gateway.send(messages(1))).toEqual([{ kind: 'accepted' }]);
    expect(tokens).toBe(2);
    answer = (_, response) => reply(response, 401, { code: 'unauthenticated' });
    expect(await gateway.send(messages(1))).toEqual([{ kind: 'account', code: 'unauthenticated' }]);
    expect(tokens).toBe(3);
  });

  test('sends a service that knows only the specification nothing beyond it', async () => {
    await gateway.send(messages(3));
    expect(calls('/send-msg/bulk')).toHaveLength(0);
    expect(Object.keys(calls('/send-msg')[0]?.body ?? {}).sort()).toEqual([
      'channel',
      'from',
      'params',
      'template-id',
      'to',
      'uid',
    ]);
  });

  test('sends call options only to a service of our kind', async () => {
    const voice = { machine: 'leave_message' as const, ringTimeoutSeconds: 20 };
    const call = { ...(messages(1)[0] as OutgoingMessage), channel: 'voice' as const, voice };
    await gateway.send([call]);
    await gateway.close();
    tokenAnswer = () => ({
      access_token: 'other',
      valid_till: '2099-01-01 00:00:00',
      capabilities: ['idempotent'],
    });
    gateway = openGateway(access);
    await gateway.send([call]);
    expect(calls('/send-msg').map(({ body }) => body.voice)).toEqual([undefined, voice]);
  });

  test('finds a template of such a service by its paged list', async () => {
    answer = ({ path }, response) => {
      const page = Number(new URL(path, 'http://x').searchParams.get('page'));
      const templates = [
        { id: `tpl-${page}`, templateName: 'N', body: 'Dear {{NAME}}, {{ CITY }}', channel: 'sms' },
      ];
      reply(response, 200, { success: true, templates, page, pageSize: 1, total: 3 });
    };
    expect(await gateway.findTemplate('sms', 'tpl-3', 1)).toEqual({
      name: 'N',
      version: 1,
      placeholders: ['NAME', 'CITY'],
      text: 'Dear {{NAME}}, {{ CITY }}',
    });
    expect(await gateway.findTemplate('sms', 'tpl-9', 1)).toBeUndefined();
  });

  test('takes it that a template of which no body is shown may ask for anything', async () => {
    const voiceJson = { nodes: [{ data: { text: 'Hello {{NAME}}' } }, null, { data: { label: '{{NO}}' } }] };
    const templates = [
      { id: 'mail', templateName: 'M', subject: 'For {{NAME}}', channel: 'email' },
      { id: 'call', templateName: 'C', voiceJson, channel: 'voice' },
    ];
    answer = (_, response) => reply(response, 200, { success: true, templates });
    for (const [channel, id] of [
      ['email', 'mail'],
      ['voice', 'call'],
    ] as const) {
      expect((await gateway.findTemplate(channel, id, 1))?.placeholders).toEqual(['NAME', '*']);
    }
  });

  test('does not ask for a token for each message when it is something else that is refused', async () => {
    answer = (_, response) => reply(response, 401, {});
    const startedAt = performance.now();
    const answers = await gateway.send(messages(300));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['account']));
    // A slow machine may take longer than the time after which another token is tried.
    const tries = Math.floor((performance.now() - startedAt) / TOKEN_RETRY_MS);
    expect(tokens).toBeLessThanOrEqual(3 + tries);
  });

  test('gives up a list of templates that has no end', async () => {
    answer = (_, response) => reply(response, 200, { success: true, templates: [{ id: 'other' }] });
    expect(await gateway.findTemplate('sms', 'tpl', 1)).toBeUndefined();
    answer = (_, response) => reply(response, 200, { success: true });
    await expect(gateway.findTemplate('sms', 'tpl', 1)).rejects.toMatchObject({ code: 'dependency_down' });
  });

  test('uses bulk where the service offers it and judges each message alone', async () => {
    tokenAnswer = () => ({
      access_token: 't',
      valid_till: '2099-01-01 00:00:00',
      capabilities: ['bulk', 'idempotent'],
    });
    answer = (_, response) =>
      reply(response, 207, {
        data: {
          results: [
            { uid: 'u0', status: 202, state: 'accepted' },
            { uid: 'u1', status: 422, code: 'invalid_request' },
            { uid: 'u2', status: 200, state: 'sent', duplicate: true },
            { uid: 'u3', status: 429, code: 'outbox_full' },
            { uid: 'u4', status: 202, state: 'suppressed' },
          ],
        },
      });
    expect((await gateway.send(messages(5))).map(({ kind }) => kind)).toEqual([
      'accepted',
      'rejected',
      'accepted',
      'later',
      'suppressed',
    ]);
    expect(calls('/send-msg')).toHaveLength(1);
  });

  test('sends no bulk larger than the service takes, and keeps the order', async () => {
    tokenAnswer = () => ({ access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities: ['bulk'] });
    answer = ({ body }, response) => {
      const sent = body.messages as { uid: string }[];
      const results = sent.map(({ uid }) => ({ uid, status: uid === 'u2' ? 422 : 202, code: 'no' }));
      reply(response, 207, { data: { results } });
    };
    const large = messages(4).map((message) => ({
      ...message,
      params: { NAME: 'x'.repeat(3 * 1024 * 1024) },
    }));
    expect((await gateway.send(large)).map(({ kind }) => kind)).toEqual([
      'accepted',
      'accepted',
      'rejected',
      'accepted',
    ]);
    expect(calls('/send-msg/bulk').map(({ body }) => (body.messages as unknown[]).length)).toEqual([2, 2]);
  });

  test('reads on from the oldest event that is kept when its place in the feed is gone', async () => {
    answer = ({ path }, response) =>
      path.includes('after=old')
        ? reply(response, 410, { code: 'cursor_expired' })
        : reply(response, 200, { data: [], next: 'e1' });
    expect(await gateway.readEvents('old', 10, 0)).toEqual({ events: [], next: 'e1' });
    expect(calls('/events').map(({ path }) => path)).toEqual([
      '/events?limit=10&wait=0&after=old',
      '/events?limit=10&wait=0',
    ]);
  });

  test.each([
    ['7', 7_000],
    ['0', 1_000],
    ['Sat, 01 Jan 2000 00:00:00 GMT', 1_000],
  ])('honours a Retry-After of %s', async (given, retryAfterMs) => {
    answer = (_, response) => reply(response, 429, { code: 'outbox_full' }, { 'retry-after': given });
    expect(await gateway.send(messages(1))).toEqual([
      { kind: 'later', code: 'outbox_full', retryAfterMs, because: 'throttled' },
    ]);
  });

  test('says why a message was not taken: itself, the speed, or nothing of its own', async () => {
    const why = async (count: number) =>
      (await gateway.send(messages(count))).map((given) => (given.kind === 'later' ? given.because : given));
    answer = (_, response) => reply(response, 503, { code: 'provider_transient' });
    expect(await why(1)).toEqual(['refused']);
    answer = (_, response) => reply(response, 503, { code: 'overloaded' });
    expect(await why(1)).toEqual(['throttled']);
    tokenAnswer = () => ({ access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities: ['bulk'] });
    const bulk = openGateway(access);
    answer = (_, response) => reply(response, 503, {});
    expect((await bulk.send(messages(2))).map((given) => given.kind === 'later' && given.because)).toEqual([
      'down',
      'down',
    ]);
    await bulk.close();
  });

  test('calls an answer that was lost unknown, and a service that was never reached not', async () => {
    answer = (_, response) => response.destroy();
    expect(await gateway.send(messages(1))).toEqual([{ kind: 'unknown' }]);
    const sendUrl = 'http://127.0.0.1:9';
    const unreached = openGateway({ ...access, sendUrl });
    expect(await unreached.send(messages(1))).toMatchObject([{ kind: 'later', because: 'down' }]);
    await unreached.close();
    const down = openGateway({
      authUrl: 'http://127.0.0.1:9',
      sendUrl: 'http://127.0.0.1:9',
      appUrl: 'http://127.0.0.1:9',
      clientId: '',
      clientSecret: '',
      apiKey: '',
    });
    await expect(down.capabilities()).rejects.toMatchObject({ code: 'dependency_down' });
    await down.close();
  });

  test.each([301, 404, 405, 415])(
    'refuses no recipient for a %i, which says nothing of a message',
    async (status) => {
      answer = (_, response) => reply(response, status, {});
      const later = { kind: 'later', code: `http_${status}`, retryAfterMs: 10_000, because: 'refused' };
      expect(await gateway.send(messages(2))).toEqual([later, later]);
      tokenAnswer = () => ({ access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities: ['bulk'] });
      const bulk = openGateway(access);
      const down = { ...later, because: 'down' };
      expect(await bulk.send(messages(2))).toEqual([down, down]);
      await bulk.close();
    },
  );

  test('takes it for the address when nothing else is answered for minutes, and not once in a while', async () => {
    const clock = jest.spyOn(Date, 'now');
    try {
      const start = performance.timeOrigin + performance.now();
      const kinds: (string | undefined)[] = [];
      answer = (_, response) => reply(response, 404, {});
      const at = async (seconds: number) => {
        clock.mockReturnValue(start + seconds * 1_000);
        const [given] = await gateway.send(messages(1));
        kinds.push(given?.kind === 'account' ? given.code : given?.kind);
      };
      for (const seconds of [0, 50, 100]) await at(seconds);
      answer = (_, response) => reply(response, 202, {});
      await at(150);
      answer = (_, response) => reply(response, 404, {});
      // An hour later another one is the first of its kind.
      for (const seconds of [200, 3_800]) await at(seconds);
      for (let seconds = 3_850; seconds <= 4_100; seconds += 50) await at(seconds);
      const [before, after] = [3, 7].map((times) => Array<string>(times).fill('later'));
      expect(kinds).toEqual([...(before ?? []), 'accepted', ...(after ?? []), 'service_not_found']);
    } finally {
      clock.mockRestore();
    }
  });

  test('refuses the account where the service is not paid', async () => {
    answer = (_, response) => reply(response, 402, {});
    expect(await gateway.send(messages(1))).toEqual([{ kind: 'account', code: 'provider_account' }]);
  });

  test('waits for a token endpoint that answers something else, and says so when it lasts', async () => {
    const url = access.authUrl;
    const strange = openGateway({ ...access, authUrl: `${url}/nowhere` });
    const clock = jest.spyOn(Date, 'now');
    const start = performance.timeOrigin + performance.now();
    try {
      for (const [status, body] of [
        [404, {}],
        [302, {}],
        [400, { error: 'invalid_grant' }],
        [200, {}],
      ] as const) {
        answer = (_, response) => reply(response, status, body);
        await expect(strange.capabilities()).rejects.toMatchObject({ code: 'dependency_down' });
      }
      for (let seconds = 50; seconds < 300; seconds += 50) {
        clock.mockReturnValue(start + seconds * 1_000);
        await expect(strange.capabilities()).rejects.toMatchObject({ code: 'dependency_down' });
      }
      clock.mockReturnValue(start + 301_000);
      await expect(strange.capabilities()).rejects.toMatchObject({
        code: 'service_not_found',
        message: expect.stringContaining('FANFARE_AUTH_URL'),
      });
      answer = (_, response) => reply(response, 503, {});
      await expect(strange.capabilities()).rejects.toMatchObject({ code: 'dependency_down' });
      answer = (_, response) => reply(response, 400, { error: 'invalid_client' });
      await expect(strange.capabilities()).rejects.toMatchObject({ code: 'invalid_client' });
    } finally {
      clock.mockRestore();
      await strange.close();
    }
  });

  test('names refused credentials as such', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/refusing`;
    answer = (_, response) => reply(response, 401, { error: 'invalid_client' });
    const refused = openGateway({
      authUrl: url,
      sendUrl: url,
      appUrl: url,
      clientId: 'x',
      clientSecret: 'y',
      apiKey: 'z',
    });
    await expect(refused.capabilities()).rejects.toMatchObject({ code: 'invalid_client' });
    await refused.close();
  });
});

function utc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
