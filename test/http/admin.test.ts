import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/tables';
import type { NewWorkspace } from '../../src/messaging/workspaces';
import { describeEachEngine } from '../support/storage';
import { basic, type CallOptions, newWorkspace, startService, type TestService } from './service';

const HOUR = 3_600_000;

describeEachEngine('administration', (engine) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  /** Another process on the same database. */
  let elsewhere: TestService;
  let nowMs = Date.now();
  /** Of the first workspace, whose user is the owner of the installation. */
  let owner: string;
  /** Of another workspace, whose user is its admin. */
  let other: NewWorkspace;
  let admin: string;

  beforeAll(async () => {
    db = (await engine.open()).tables<MessagingTables>();
    service = await startService(db, { now: () => nowMs });
    elsewhere = await startService(db, { now: () => nowMs });
    other = await newWorkspace(service.identity);
    owner = await cookieFor(service.workspace.user);
    admin = await cookieFor(other.user);
  });
  afterAll(async () => {
    await service.app.close();
    await elsewhere.app.close();
  });

  const cookieFor = async (user: { email: string; password: string }) =>
    `session_token=${(await service.identity.login({ ...user, address: 'tests' })).token}`;
  const call = (method: string, path: string, body?: unknown, options: CallOptions & { as?: string } = {}) =>
    service.call(method, `/api/admin${path}`, {
      headers: { cookie: options.as ?? admin, ...options.headers },
      body,
    });
  const loginStatus = async (email: string, password: string) => {
    await db.deleteFrom('failed_attempts').execute();
    return (await service.call('POST', '/api/session', { body: { email, password } })).status;
  };
  const askToken = (client: { id: string; secret: string }) =>
    service.call('POST', '/api/v1/auth/token', {
      body: { grant_type: 'client_credentials' },
      headers: { authorization: basic(client.id, client.secret) },
    });
  const works = async (on: TestService, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await on.call('GET', '/api/template?channel=sms', { headers })).status === 200;
  };

  describe('who may', () => {
    const paths: [string, string][] = [
      ['GET', '/users'],
      ['POST', '/users'],
      ['PATCH', '/users/usr_1'],
      ['POST', '/users/usr_1/disable'],
      ['POST', '/users/usr_1/enable'],
      ['POST', '/users/usr_1/password'],
      ['GET', '/clients'],
      ['POST', '/clients'],
      ['POST', '/clients/cli_1/rotate'],
      ['POST', '/clients/cli_1/disable'],
      ['POST', '/clients/cli_1/enable'],
      ['GET', '/api-keys'],
      ['POST', '/api-keys'],
      ['DELETE', '/api-keys/key_1'],
      ['POST', '/workspaces'],
    ];
    let member: string;
    beforeAll(async () => {
      const body = { email: 'member-who@example.com', password: 'a long enough one' };
      expect((await call('POST', '/users', body)).status).toBe(201);
      member = await cookieFor(body);
    });

    test.each(paths)('%s %s is for administrators with a session', async (method, path) => {
      const asMember = await call(method, path, undefined, { as: member });
      expect([asMember.status, asMember.body.code]).toEqual([403, 'forbidden']);
      const headers = { authorization: service.bearer, 'x-api-key': service.workspace.apiKey };
      const byBearer = await service.call(method, `/api/admin${path}`, { headers });
      expect([byBearer.status, byBearer.body.code]).toEqual([401, 'unauthenticated']);
      if (method === 'GET') return;
      const crossSite = await call(method, path, undefined, { headers: { origin: 'https://evil.example' } });
      expect(crossSite.status).toBe(403);
    });
  });

  describe('users', () => {
    let count = 0;
    const create = async (more: Record<string, unknown> = {}, as = admin) => {
      count += 1;
      const email = `user-${count}-${process.pid}@example.com`;
      const answer = await call('POST', '/users', { email, ...more }, { as });
      return { answer, id: answer.body.data?.id as string, email };
    };

    test('a user is created with a password that is told once, and logs in with it', async () => {
      const { answer, email } = await create();
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      const { password, ...user } = answer.body.data;
      expect(user).toEqual({
        id: expect.stringMatching(/^usr_/),
        email,
        role: 'member',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
        disabledAt: null,
      });
      expect(await loginStatus(email, password)).toBe(200);
      const list = await call('GET', `/users?search=${email.slice(0, 8).toUpperCase()}`);
      expect(list.body).toMatchObject({
        result: 'success',
        status: 200,
        pagination: { page: 1, limit: 20, total: expect.any(Number) },
      });
      expect(list.body.data).toContainEqual(user);
      expect(JSON.stringify(list.body)).not.toContain('password');
    });

    test('a password that was chosen is not told', async () => {
      const { answer, email } = await create({ password: 'chosen, and long', role: 'admin' });
      expect(answer.body.data).not.toHaveProperty('password');
      expect(answer.body.data.role).toBe('admin');
      expect(await loginStatus(email, 'chosen, and long')).toBe(200);
    });

    test('what is wrong with a user is told at once', async () => {
      const answer = await call('POST', '/users', { email: 'x', role: 'king', password: 'short', more: 1 });
      expect(answer.status).toBe(422);
      const paths = answer.body.errors.map((error: { path: string }) => error.path);
      expect(paths.sort()).toEqual(['email', 'more', 'password', 'role']);
    });

    test('an email address that somebody has is taken', async () => {
      const taken = await call('POST', '/users', { email: service.workspace.user.email.toUpperCase() });
      expect([taken.status, taken.body.code]).toEqual([409, 'name_taken']);
    });

    test('lists are paged, newest first', async () => {
      const made = [(await create()).id, (await create()).id, (await create()).id];
      const page = async (n: number) => (await call('GET', `/users?page=${n}&limit=2`)).body;
      const [first, second] = [await page(1), await page(2)];
      expect([...first.data, ...second.data].slice(0, 3).map((user) => user.id)).toEqual(made.reverse());
      expect(first.pagination.total).toBe(second.pagination.total);
      expect((await call('GET', '/users?limit=101')).status).toBe(422);
    });

    test('a new role counts at once', async () => {
      const { id, email, answer } = await create();
      const cookie = await cookieFor({ email, password: answer.body.data.password });
      expect((await call('GET', '/users', undefined, { as: cookie })).status).toBe(403);
      const changed = await call('PATCH', `/users/${id}`, { role: 'admin' });
      expect([changed.status, changed.body.data.role]).toEqual([200, 'admin']);
      expect((await call('GET', '/users', undefined, { as: cookie })).status).toBe(200);
    });

    test('a disabled user is out, and in again once enabled and logged in', async () => {
      const { id, email, answer } = await create();
      const { password } = answer.body.data;
      const cookie = await cookieFor({ email, password });
      const who = async () => (await service.call('GET', '/api/session', { headers: { cookie } })).status;
      expect(await who()).toBe(200);
      const disabled = await call('POST', `/users/${id}/disable`);
      expect([disabled.status, disabled.body.data.disabledAt]).toEqual([200, new Date(nowMs).toISOString()]);
      expect([await who(), await loginStatus(email, password)]).toEqual([401, 401]);
      expect((await call('POST', `/users/${id}/enable`, {})).body.data.disabledAt).toBeNull();
      expect([await who(), await loginStatus(email, password)]).toEqual([401, 200]);
    });

    test('a password is reset, and sessions with the old one end', async () => {
      const { id, email, answer } = await create();
      const old = answer.body.data.password;
      const cookie = await cookieFor({ email, password: old });
      const made = await call('POST', `/users/${id}/password`);
      expect(made.status).toBe(200);
      expect(await loginStatus(email, made.body.data.password)).toBe(200);
      expect(await loginStatus(email, old)).toBe(401);
      expect((await service.call('GET', '/api/session', { headers: { cookie } })).status).toBe(401);
      const chosen = await call('POST', `/users/${id}/password`, { password: 'one of my own' });
      expect(chosen.body.data).not.toHaveProperty('password');
      expect(await loginStatus(email, 'one of my own')).toBe(200);
    });

    test('only an owner makes or changes an owner', async () => {
      const refused = await create({ role: 'owner' });
      expect([refused.answer.status, refused.answer.body.code]).toEqual([403, 'forbidden']);
      const helper = await create({ role: 'admin', password: 'the helper’s own' }, owner);
      const cookie = await cookieFor({ email: helper.email, password: 'the helper’s own' });
      const { id } = service.workspace.user;
      for (const [path, body] of [
        [`/users/${id}/password`, {}],
        [`/users/${id}/disable`, {}],
      ] as const) {
        expect((await call('POST', path, body, { as: cookie })).status).toBe(403);
      }
      expect((await call('PATCH', `/users/${helper.id}`, { role: 'owner' }, { as: cookie })).status).toBe(
        403,
      );
      expect((await call('PATCH', `/users/${helper.id}`, { role: 'owner' }, { as: owner })).status).toBe(200);
      expect((await call('PATCH', `/users/${helper.id}`, { role: 'admin' }, { as: owner })).status).toBe(200);
    });

    test('the last who can administer a workspace, and the last owner, stay', async () => {
      const made = await newWorkspace(service.identity);
      const alone = await cookieFor(made.user);
      for (const [method, path, body] of [
        ['POST', `/users/${made.user.id}/disable`, {}],
        ['PATCH', `/users/${made.user.id}`, { role: 'member' }],
      ] as const) {
        const refused = await call(method, path, body, { as: alone });
        expect([refused.status, refused.body.code]).toEqual([409, 'last_admin']);
      }
      const demoted = await call(
        'PATCH',
        `/users/${service.workspace.user.id}`,
        { role: 'admin' },
        { as: owner },
      );
      expect([demoted.status, demoted.body.code]).toEqual([409, 'last_admin']);
    });

    test('two who demote each other at the same moment do not both succeed', async () => {
      const made = await newWorkspace(service.identity);
      const actor = { workspaceId: made.workspace.id, role: 'admin' } as const;
      const { users } = service.identity;
      const second = await users.create(actor, { email: `pair-${process.pid}@example.com`, role: 'admin' });
      const answers = await Promise.allSettled([
        users.setRole(actor, second.user.id, 'member'),
        elsewhere.identity.users.disable(actor, made.user.id),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const refused = answers.find(({ status }) => status === 'rejected');
      expect(refused).toMatchObject({ reason: { code: 'last_admin' } });
    });
  });

  describe('clients', () => {
    const create = async () =>
      (await call('POST', '/clients', { name: 'Backend' })).body.data as { id: string; secret: string };

    test('a client is created with a secret that is told once, and gets tokens', async () => {
      const answer = await call('POST', '/clients', { name: 'Backend' });
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      const { secret, ...client } = answer.body.data;
      expect(client).toEqual({
        id: expect.stringMatching(/^cli_/),
        name: 'Backend',
        createdAt: expect.any(String),
        disabledAt: null,
        oldSecretValidTill: null,
      });
      expect((await askToken({ id: client.id, secret })).status).toBe(200);
      const list = await call('GET', '/clients?limit=100');
      expect(list.body.data).toContainEqual(client);
      expect(JSON.stringify(list.body)).not.toContain('secret":');
      expect(JSON.stringify(await db.selectFrom('api_client_secrets').selectAll().execute())).not.toContain(
        secret,
      );
    });

    test('after a rotation the old secret works on for a day', async () => {
      const { id, secret } = await create();
      const rotated = await call('POST', `/clients/${id}/rotate`);
      expect(rotated.status).toBe(200);
      const till = Date.parse(rotated.body.data.oldSecretValidTill);
      expect(till).toBe(nowMs + 24 * HOUR);
      const tries = async () => [
        (await askToken({ id, secret })).status,
        (await askToken({ id, secret: rotated.body.data.secret })).status,
      ];
      expect(await tries()).toEqual([200, 200]);
      nowMs = till;
      expect(await tries()).toEqual([401, 200]);
      admin = await cookieFor(other.user);
      owner = await cookieFor(service.workspace.user);
    });

    test('the overlap is chosen, and without one every earlier secret stops at once', async () => {
      const { id, secret } = await create();
      const second = (await call('POST', `/clients/${id}/rotate`, { overlapHours: 168 })).body.data;
      const third = (await call('POST', `/clients/${id}/rotate`, { overlapHours: 1 })).body.data;
      expect(Date.parse(third.oldSecretValidTill)).toBe(nowMs + HOUR);
      expect((await askToken({ id, secret: second.secret })).status).toBe(200);
      const last = (await call('POST', `/clients/${id}/rotate`, { overlapHours: 0 })).body.data;
      expect(last.oldSecretValidTill).toBeNull();
      for (const old of [secret, second.secret, third.secret]) {
        expect((await askToken({ id, secret: old })).status).toBe(401);
      }
      expect((await askToken({ id, secret: last.secret })).status).toBe(200);
      for (const overlapHours of [-1, 169, 1.5, '24']) {
        expect((await call('POST', `/clients/${id}/rotate`, { overlapHours })).status).toBe(422);
      }
    });

    test('a rotation after a theft ends the tokens as well', async () => {
      const { id, secret } = await create();
      const token = (await askToken({ id, secret })).body.access_token;
      expect([await works(service, token), await works(elsewhere, token)]).toEqual([true, true]);
      await call('POST', `/clients/${id}/rotate`, { overlapHours: 24 });
      expect(await works(service, token)).toBe(true);
      await call('POST', `/clients/${id}/rotate`, { overlapHours: 0, revokeTokens: true });
      expect(await works(service, token)).toBe(false);
      nowMs += 5_000;
      expect(await works(elsewhere, token)).toBe(false);
    });

    test('a client has five secrets at a time, and can always be rid of them', async () => {
      const { id } = await create();
      const rotate = (body = {}) => call('POST', `/clients/${id}/rotate`, body);
      for (let i = 0; i < 4; i++) expect((await rotate()).status).toBe(200);
      const refused = await rotate();
      expect([refused.status, refused.body.code]).toEqual([409, 'limit_reached']);
      expect((await rotate({ overlapHours: 0 })).status).toBe(200);
      expect((await rotate()).status).toBe(200);
    });

    test('a disabled client gets no tokens and its tokens stop on every process within five seconds', async () => {
      const { id, secret } = await create();
      const token = (await askToken({ id, secret })).body.access_token;
      expect([await works(service, token), await works(elsewhere, token)]).toEqual([true, true]);
      const disabled = await call('POST', `/clients/${id}/disable`);
      expect(disabled.body.data.disabledAt).toBe(new Date(nowMs).toISOString());
      expect([await works(service, token), (await askToken({ id, secret })).status]).toEqual([false, 401]);
      nowMs += 5_000;
      expect(await works(elsewhere, token)).toBe(false);

      expect((await call('POST', `/clients/${id}/enable`)).body.data.disabledAt).toBeNull();
      nowMs += 5_000;
      expect([await works(service, token), await works(elsewhere, token)]).toEqual([false, false]);
      expect((await askToken({ id, secret })).status).toBe(200);
    });
  });

  describe('API keys', () => {
    test('a key is told once, listed by its prefix, and stops when it is revoked', async () => {
      const answer = await call('POST', '/api-keys', { name: 'Sender' });
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      const { key, ...listed } = answer.body.data;
      expect(key).toMatch(/^ffk_[\w-]{43}$/);
      expect(listed).toEqual({
        id: expect.stringMatching(/^key_/),
        name: 'Sender',
        prefix: key.slice(0, 10),
        createdAt: expect.any(String),
        revokedAt: null,
      });
      expect((await call('GET', '/api-keys')).body.data).toContainEqual(listed);
      const workspaceOf = [service, elsewhere].map(
        ({ identity }) =>
          () =>
            identity.byApiKey(key),
      );
      for (const find of workspaceOf) expect(await find()).toBe(other.workspace.id);

      const revoked = await call('DELETE', `/api-keys/${listed.id}`);
      expect(revoked.body.data.revokedAt).toBe(new Date(nowMs).toISOString());
      expect(await workspaceOf[0]?.()).toBeUndefined();
      nowMs += 5_000;
      expect(await workspaceOf[1]?.()).toBeUndefined();
      expect((await call('DELETE', `/api-keys/${listed.id}`)).body.data).toEqual(revoked.body.data);
    });
  });

  describe('workspaces', () => {
    test('the owner of the installation makes one, with everything its people need, told once', async () => {
      const email = `new-${process.pid}@example.com`;
      const answer = await call('POST', '/workspaces', { name: 'A customer', email }, { as: owner });
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      expect(answer.body).toEqual({
        success: true,
        workspace: { id: expect.stringMatching(/^ws_/), name: 'A customer' },
        user: { id: expect.stringMatching(/^usr_/), email, password: expect.any(String) },
        client: { id: expect.stringMatching(/^cli_/), secret: expect.any(String) },
        apiKey: expect.stringMatching(/^ffk_/),
      });
      expect(await loginStatus(email, answer.body.user.password)).toBe(200);
      expect((await askToken(answer.body.client)).status).toBe(200);
      const again = await call('POST', '/workspaces', { name: 'B', email }, { as: owner });
      expect([again.status, again.body.code]).toEqual([409, 'name_taken']);
    });

    test('an admin makes none', async () => {
      const answer = await call('POST', '/workspaces', { name: 'X', email: 'x@example.com' });
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    });
  });

  test('ids of another workspace are unknown', async () => {
    const [client, key] = [
      service.workspace.client.id,
      (await call('GET', '/api-keys', undefined, { as: owner })).body.data[0].id,
    ];
    const { id } = service.workspace.user;
    for (const [method, path, body] of [
      ['PATCH', `/users/${id}`, { role: 'member' }],
      ['POST', `/users/${id}/disable`, {}],
      ['POST', `/users/${id}/enable`, {}],
      ['POST', `/users/${id}/password`, {}],
      ['POST', `/clients/${client}/rotate`, {}],
      ['POST', `/clients/${client}/disable`, {}],
      ['POST', `/clients/${client}/enable`, {}],
      ['DELETE', `/api-keys/${key}`, undefined],
    ] as const) {
      const answer = await call(method, path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
    }
    expect((await askToken(service.workspace.client)).status).toBe(200);
  });
});
