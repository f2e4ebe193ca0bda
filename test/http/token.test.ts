/** Proves how clients get, use and revoke tokens. */

import type { Kysely } from 'kysely';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { keepExpiring } from '../../src/messaging/retention';
import { describeWithDatabase } from '../support/storage';
import { basic, newWorkspace, startService, type TestService } from './service';

const PATH = '/api/v1/auth/token';

describeWithDatabase('creating a token', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    service = await startService(db, { now: () => nowMs });
  });
  afterAll(() => service.app.close());

  const ask = (
    body: unknown,
    authorization = basic(service.workspace.client.id, service.workspace.client.secret),
  ) => service.call('POST', PATH, { body, headers: authorization ? { authorization } : {} });
  const revoke = (body: unknown, client = service.workspace.client, type?: string) =>
    service.call('POST', '/api/v1/auth/revoke', {
      body,
      headers: { authorization: basic(client.id, client.secret) },
      ...(type ? { type } : {}),
    });
  const works = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await service.call('GET', '/api/template?channel=sms', { headers })).status === 200;
  };
  const laterMs = (ms: number) => {
    nowMs += ms;
  };

  test('a client gets a token with its end in UTC, to the second, and what the service can do', async () => {
    const answer = await ask({ grant_type: 'client_credentials' });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^fft_[\w-]{43}$/),
      valid_till: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      token_type: 'Bearer',
      expires_in: 86_400,
      capabilities: ['bulk', 'checks', 'events', 'holds', 'idempotent', 'stories'],
    });
    const lifeMs = Date.parse(`${answer.body.valid_till.replace(' ', 'T')}Z`) - nowMs;
    expect(lifeMs).toBeGreaterThanOrEqual(86_400_000);
    expect(lifeMs).toBeLessThan(86_401_000);
    expect(await works(answer.body.access_token)).toBe(true);
  });

  test('a token stops working at the second it said', async () => {
    const { body } = await ask({ grant_type: 'client_credentials', valid_hour: 1 });
    const end = Date.parse(`${body.valid_till.replace(' ', 'T')}Z`);
    nowMs = end - 1;
    expect(await works(body.access_token)).toBe(true);
    nowMs = end;
    expect(await works(body.access_token)).toBe(false);
  });

  test.each([1, 24, 168])('a validity of %p hours is granted', async (hours) => {
    const answer = await ask({ grant_type: 'client_credentials', valid_hour: hours });
    expect([answer.status, answer.body.expires_in]).toEqual([200, hours * 3_600]);
  });

  test.each([0, -1, 169, 1.5, '24', null, true])('a validity of %p is 422', async (hours) => {
    const answer = await ask({ grant_type: 'client_credentials', valid_hour: hours });
    expect([answer.status, answer.body.code, answer.body.error]).toEqual([
      422,
      'invalid_request',
      'invalid_request',
    ]);
    expect(answer.body.errors[0].path).toBe('valid_hour');
  });

  test.each([{}, { grant_type: 'password' }, { grant_type: 1 }, { grant_type: '', valid_hour: 0 }])(
    'a grant of %j is not supported',
    async (body) => {
      const answer = await ask(body);
      expect([answer.status, answer.body.code, answer.body.error]).toEqual([
        400,
        'unsupported_grant_type',
        'unsupported_grant_type',
      ]);
    },
  );

  test('fields that a newer client sends are ignored', async () => {
    expect((await ask({ grant_type: 'client_credentials', scope: 'all' })).status).toBe(200);
  });

  test('unknown, wrong and missing credentials are refused alike, before the body is looked at', async () => {
    const { id, secret } = service.workspace.client;
    const refused = [
      basic(id, 'wrong'),
      basic('cli_unknown', secret),
      basic(id, ''),
      `Basic ${id}`,
      'Basic !!!',
      `Bearer ${secret}`,
      basic('a\0b', secret),
      '',
    ];
    for (const authorization of refused) {
      const answer = await ask('not json', authorization);
      expect([answer.status, answer.body.code, answer.body.error]).toEqual([
        401,
        'invalid_client',
        'invalid_client',
      ]);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
    }
    const [wrong, unknown] = await Promise.all([
      ask({}, basic(id, 'wrong')),
      ask({}, basic('cli_x', secret)),
    ]);
    expect({ ...wrong.body, instance: '' }).toEqual({ ...unknown.body, instance: '' });
  });

  test('a revoked token stops at once here, and a disabled client within five seconds everywhere', async () => {
    const grant = { grant_type: 'client_credentials' };
    const [revoked, other] = [(await ask(grant)).body.access_token, (await ask(grant)).body.access_token];
    expect([await works(revoked), await works(other)]).toEqual([true, true]);
    await revoke({ token: revoked });
    expect([await works(revoked), await works(other)]).toEqual([false, true]);

    const { id } = service.workspace.client;
    await db.updateTable('api_clients').set({ disabled_at: new Date() }).where('id', '=', id).execute();
    laterMs(5_000);
    expect(await works(other)).toBe(false);
    expect((await ask(grant)).status).toBe(401);
    await db.updateTable('api_clients').set({ disabled_at: null }).where('id', '=', id).execute();
  });

  test('a client revokes its token in the form of RFC 7009, or in JSON', async () => {
    const grant = { grant_type: 'client_credentials' };
    const [one, two] = [(await ask(grant)).body.access_token, (await ask(grant)).body.access_token];
    const form = new URLSearchParams({ token: one, token_type_hint: 'access_token' }).toString();
    const answer = await revoke(form, undefined, 'application/x-www-form-urlencoded');
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect([await works(one), await works(two)]).toEqual([false, true]);
    expect((await revoke({ token: two, anything: 'else' })).status).toBe(200);
    expect(await works(two)).toBe(false);
  });

  test('a token that is unknown, revoked before or of another client is revoked without a word', async () => {
    const other = await newWorkspace(service.identity);
    const token = (await ask({ grant_type: 'client_credentials' })).body.access_token;
    expect((await revoke({ token }, other.client)).status).toBe(200);
    expect(await works(token)).toBe(true);
    expect((await revoke({ token: 'fft_unknown' })).status).toBe(200);
    await revoke({ token });
    expect((await revoke({ token })).status).toBe(200);
  });

  test('revoking takes a client and a token', async () => {
    const refused = await revoke({ token: 'x' }, { id: service.workspace.client.id, secret: 'wrong' });
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
    for (const body of [{}, { token: '' }, { token: 1 }, undefined]) {
      const answer = await revoke(body);
      expect([answer.status, answer.body.error]).toEqual([422, 'invalid_request']);
    }
  });

  test('error answers are not cached either', async () => {
    expect((await ask({ grant_type: 'x' })).headers['cache-control']).toBe('no-store');
    expect((await ask({}, '')).headers['cache-control']).toBe('no-store');
  });

  test('five wrong secrets of a client from one address make it wait for a minute', async () => {
    const { client } = await newWorkspace(service.identity);
    const wrong = () => ask({ grant_type: 'client_credentials' }, basic(client.id, 'wrong'));
    const right = () => ask({ grant_type: 'client_credentials' }, basic(client.id, client.secret));
    for (let i = 0; i < 4; i++) expect((await wrong()).status).toBe(401);
    expect((await right()).status).toBe(200);
    expect((await wrong()).status).toBe(401);
    const closed = await right();
    expect([closed.status, closed.body.code, closed.body.error]).toEqual([
      429,
      'too_many_attempts',
      'invalid_request',
    ]);
    expect(closed.headers['retry-after']).toBe('60');
    expect((await ask({ grant_type: 'client_credentials' })).status).toBe(200);
    laterMs(60_000);
    expect((await right()).status).toBe(200);
  });

  test('a disabled client that asks again and again is let in once it is enabled', async () => {
    const { client } = await newWorkspace(service.identity);
    const asItself = () => ask({ grant_type: 'client_credentials' }, basic(client.id, client.secret));
    const setDisabled = (at: Date | null) =>
      db.updateTable('api_clients').set({ disabled_at: at }).where('id', '=', client.id).execute();
    await setDisabled(new Date());
    for (let i = 0; i < 6; i++) {
      const { status, body } = await asItself();
      expect([status, body.code]).toEqual([401, 'invalid_client']);
    }
    await setDisabled(null);
    expect((await asItself()).status).toBe(200);
  });

  test('no token is kept as it is, and ended ones are cleared away', async () => {
    const { body } = await ask({ grant_type: 'client_credentials', valid_hour: 1 });
    const before = await db.selectFrom('access_tokens').selectAll().execute();
    expect(JSON.stringify(before)).not.toContain(body.access_token);
    laterMs(169 * 3_600_000);
    const expiry = keepExpiring({ db, log: createLog('silent'), now: () => nowMs });
    await expiry.sweep();
    expiry.stop();
    expect(await db.selectFrom('access_tokens').selectAll().execute()).toEqual([]);
  });
});
