import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/tables';
import { describeEachEngine } from '../support/storage';
import { basic, startService, type TestService } from './service';

const PATH = '/api/v1/auth/token';

describeEachEngine('creating a token', (engine) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await engine.open()).tables<MessagingTables>();
    service = await startService(db, { now: () => nowMs });
  });
  afterAll(() => service.app.close());

  const ask = (
    body: unknown,
    authorization = basic(service.workspace.client.id, service.workspace.client.secret),
  ) => service.call('POST', PATH, { body, headers: authorization ? { authorization } : {} });
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
      capabilities: ['bulk', 'events', 'holds', 'idempotent'],
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
    await service.identity.revokeToken(revoked);
    expect([await works(revoked), await works(other)]).toEqual([false, true]);

    const { id } = service.workspace.client;
    await db.updateTable('api_clients').set({ disabled_at: new Date() }).where('id', '=', id).execute();
    laterMs(5_000);
    expect(await works(other)).toBe(false);
    expect((await ask(grant)).status).toBe(401);
    await db.updateTable('api_clients').set({ disabled_at: null }).where('id', '=', id).execute();
  });

  test('no token is kept as it is, and ended ones are cleared away', async () => {
    const { body } = await ask({ grant_type: 'client_credentials', valid_hour: 1 });
    const before = await db.selectFrom('access_tokens').selectAll().execute();
    expect(JSON.stringify(before)).not.toContain(body.access_token);
    laterMs(169 * 3_600_000);
    await ask({ grant_type: 'client_credentials' });
    expect(await db.selectFrom('access_tokens').selectAll().execute()).toHaveLength(1);
  });
});
