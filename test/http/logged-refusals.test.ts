/** Proves that calls which validation or a bound refused are in the process log, counted, and without what they held. */

import { SCOPES } from '../../src/domain/access';
import { LIMITS } from '../../src/domain/limits';
import { logRefusals } from '../../src/http/request/observer';
import type { App } from '../../src/http/request/routing';
import { createLog } from '../../src/log';
import { until } from '../support/until';
import { listen, type TestServer } from './service';

const nobody = async () => undefined;
const KINDS = LIMITS.refusalsLoggedHeld + 20;

describe('calls that are refused', () => {
  let server: TestServer;
  let lines: Record<string, unknown>[];

  const log = Object.assign(createLog('silent'), {
    info: (line: Record<string, unknown>) => {
      lines.push(line);
    },
  });
  const answering = (app: App) => {
    app.get('/status/:status', { config: { auth: 'open' } }, async (request, reply) =>
      reply.code(Number((request.params as { status: string }).status)).send({}),
    );
    const access = { role: 'viewer', scopes: ['read'] } as const;
    app.get('/mine', { config: { auth: 'app', access } }, async (_request, reply) =>
      reply.code(409).send({}),
    );
  };

  beforeEach(async () => {
    lines = [];
    server = await listen({
      authenticator: {
        ...{ bySession: nobody, byApiKey: nobody },
        byAccessToken: async (token) => ({ workspaceId: token, scopes: SCOPES, via: 'bearer' }),
      },
      routes: [answering],
      log,
    });
  });
  afterEach(() => server.app.close());

  const written = (count: number) => until('the lines are written', async () => lines.length >= count);

  test('are written with route, status and workspace, and nothing that they held', async () => {
    await server.call('GET', '/mine?search=reader@example.com', {
      headers: { authorization: 'Bearer ws_a' },
    });
    await written(1);
    const line = { method: 'GET', route: '/mine', status: 409, workspaceId: 'ws_a', count: 1 };
    expect(lines).toEqual([{ ...line, requestId: expect.any(String) }]);
  });

  test('are written for every status that a control answers with, and for no other', async () => {
    for (const status of [200, 400, 401, 403, 404, 409, 413, 415, 422, 429, 503])
      await server.call('GET', `/status/${status}`);
    await written(6);
    await server.app.close();
    expect(lines.map(({ status }) => status)).toEqual([400, 409, 413, 415, 422, 429]);
  });

  test('that repeat are one more line, with their count', async () => {
    for (let i = 0; i < 5; i++) await server.call('GET', '/status/422');
    await written(1);
    await server.app.close();
    expect(lines.map(({ status, count }) => [status, count])).toEqual([
      [422, 1],
      [422, 4],
    ]);
  });

  test('of too many kinds are counted together, and the minute after they are told apart again', async () => {
    const ticks: (() => void)[] = [];
    const interval = jest.spyOn(global, 'setInterval').mockImplementation((tick) => {
      ticks.push(tick as () => void);
      return { unref: () => undefined } as unknown as NodeJS.Timeout;
    });
    let onResponse: ((request: unknown, reply: unknown, done: () => void) => void) | undefined;
    const app = {
      addHook: (_name: string, hook: typeof onResponse) => (onResponse ??= hook),
    } as unknown as App;
    logRefusals(app, log);
    interval.mockRestore();
    const refuse = (i: number) =>
      onResponse?.(
        { id: `r${i}`, method: 'GET', routeOptions: { url: `/many/${i}` } },
        { statusCode: 422 },
        () => undefined,
      );
    for (let i = 0; i < KINDS; i++) refuse(i);
    ticks[0]?.();
    refuse(KINDS - 1);
    expect(lines).toHaveLength(LIMITS.refusalsLoggedHeld + 2);
    expect(lines.at(-2)).toEqual({ route: 'others', count: 20 });
    expect(lines.at(-1)).toMatchObject({ route: `/many/${KINDS - 1}`, count: 1 });
  });
});
