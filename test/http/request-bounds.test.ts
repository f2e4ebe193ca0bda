/** Proves the bounds on a workspace's requests, and the headers of every answer. */

import { SCOPES } from '../../src/domain/access';
import { LIMITS } from '../../src/domain/limits';
import type { Access } from '../../src/http/request/access';
import type { Bound } from '../../src/http/request/request-bounds';
import type { App } from '../../src/http/request/routing';
import { OwnRequests } from '../../src/own-requests';
import { until } from '../support/until';
import { listen, type TestServer } from './service';

const access: Access = { role: 'viewer', scopes: ['read'] };
const nobody = async () => undefined;

describe('requests of a workspace', () => {
  const own = new OwnRequests();
  let server: TestServer;
  let waiting: (() => void)[] = [];

  const routes = (app: App) => {
    for (const bound of ['requests', 'streams', 'imports', 'sending'] satisfies Bound[]) {
      app.get(`/${bound}/quick`, { config: { auth: 'app', access, bound } }, async () => ({ done: true }));
      app.get(`/${bound}/slow`, { config: { auth: 'app', access, bound } }, async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { done: true };
      });
    }
    app.get('/open', { config: { auth: 'open' } }, async () => ({ done: true }));
  };

  async function start(perSecond: number, publicUrl?: string) {
    server = await listen({
      authenticator: {
        bySession: nobody,
        byApiKey: nobody,
        byAccessToken: async (token) => ({ workspaceId: token, scopes: SCOPES, via: 'bearer' }),
      },
      routes: [routes],
      requestBounds: { perSecond, atOnce: 3 },
      own,
      publicUrl,
    });
  }
  afterEach(async () => {
    letGo();
    await server.app.close();
  });

  const letGo = () => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const get = (path: string, workspace = 'ws_a') =>
    server.call('GET', path, { headers: { authorization: `Bearer ${workspace}` } });
  const statuses = async (path: string, count: number, workspace?: string) =>
    (await Promise.all(Array.from({ length: count }, () => get(path, workspace)))).map(
      ({ status }) => status,
    );

  test('more than a number a second are refused, of that workspace alone', async () => {
    await start(2);
    const answers = [
      await get('/requests/quick'),
      await get('/requests/quick'),
      await get('/requests/quick'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.body).toMatchObject({ code: 'too_many_requests', status: 429 });
    expect(answers[2]?.headers['retry-after']).toBe('1');
    expect((await get('/requests/quick', 'ws_b')).status).toBe(200);
    expect((await get('/open')).status).toBe(200);
    await until('there is room', async () => (await get('/requests/quick')).status === 200);
  });

  test('more than a number at once are refused until one ends', async () => {
    await start(10_000);
    const slow = statuses('/requests/slow', 3);
    await until('the slow requests wait', () => waiting.length === 3);
    expect(await statuses('/requests/quick', 2)).toEqual([429, 429]);
    expect(await statuses('/requests/quick', 2, 'ws_b')).toEqual([200, 200]);
    letGo();
    expect(await slow).toEqual([200, 200, 200]);
    await until('there is room', async () => (await get('/requests/quick')).status === 200);
  });

  test('what the process asks of itself is not counted, and no other process can ask as it does', async () => {
    await start(10_000);
    const slow = statuses('/requests/slow', 3);
    await until('the slow requests wait', () => waiting.length === 3);
    const status = async (more: Readonly<Record<string, string>>) =>
      (await server.call('GET', '/requests/quick', { headers: { authorization: 'Bearer ws_a', ...more } }))
        .status;
    expect(await status(own.headers)).toBe(200);
    expect(await status(new OwnRequests().headers)).toBe(429);
    expect(await status({ 'x-fanfare-own': '' })).toBe(429);
    letGo();
    await slow;
  });

  test('a caller that leaves makes room', async () => {
    await start(10_000);
    const leaving = new AbortController();
    const headers = { authorization: 'Bearer ws_a' };
    const left = Array.from({ length: 3 }, () =>
      fetch(`${server.url}/requests/slow`, { headers, signal: leaving.signal }).catch(() => undefined),
    );
    await until('the slow requests wait', () => waiting.length === 3);
    expect((await get('/requests/quick')).status).toBe(429);
    leaving.abort();
    await Promise.all(left);
    await until('there is room', async () => (await get('/requests/quick')).status === 200);
  });

  test('streams and imports have bounds of their own, and sending has none here', async () => {
    await start(1);
    const imports = statuses('/imports/slow', LIMITS.importsPerWorkspace);
    await until('the slow requests wait', () => waiting.length === LIMITS.importsPerWorkspace);
    expect(await statuses('/imports/quick', 1)).toEqual([429]);
    // A table that another route takes, as the suppression list's does, is an import too.
    const headers = { authorization: 'Bearer ws_a', 'content-type': 'text/csv; charset=utf-8' };
    const table = await server.call('GET', '/requests/quick', { headers });
    expect([table.status, table.body.code]).toEqual([429, 'too_many_requests']);
    expect(table.body.detail).toBe(
      `${LIMITS.importsPerWorkspace} imports of this workspace are under way; wait for one to end`,
    );
    const streams = statuses('/streams/slow', LIMITS.streamsPerWorkspace);
    await until(
      'the slow requests wait',
      () => waiting.length === LIMITS.importsPerWorkspace + LIMITS.streamsPerWorkspace,
    );
    expect(await statuses('/streams/quick', 1)).toEqual([429]);
    expect(await statuses('/sending/quick', 20)).toEqual(Array(20).fill(200));
    expect(await statuses('/requests/quick', 1)).toEqual([200]);
    letGo();
    expect(new Set([...(await imports), ...(await streams)])).toEqual(new Set([200]));
  });

  test('every answer in JSON says that it is what it says, and that no cache keeps it', async () => {
    await start(10_000);
    for (const answer of [
      await get('/requests/quick'),
      await get('/unknown'),
      await server.call('GET', '/requests/quick'),
    ]) {
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'/),
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
      });
      expect(answer.headers).not.toHaveProperty('strict-transport-security');
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  test('where the public address is https, browsers are told to use nothing else', async () => {
    await start(10_000, 'https://fanfare.example.com');
    expect((await get('/open')).headers['strict-transport-security']).toMatch(/^max-age=31536000/);
  });
});
