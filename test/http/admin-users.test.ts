/** Proves how users are created, changed and disabled, and who may do it. */

import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { type AdminRig, startAdministration } from './admin-rig';
import { newWorkspace, type TestService } from './service';

describeWithDatabase('administration of users', (database) => {
  let db: Kysely<MessagingTables>;
  let rig: AdminRig;
  let service: TestService;
  let elsewhere: TestService;
  let clock: AdminRig['clock'];
  let call: AdminRig['call'];
  let cookieFor: AdminRig['cookieFor'];
  let loginStatus: AdminRig['loginStatus'];
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    rig = await startAdministration(db);
    ({ service, elsewhere, clock, call, cookieFor, loginStatus } = rig);
  });
  afterAll(() => rig.stop());

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
    const create = async (more: Record<string, unknown> = {}, as = rig.admin) => {
      count += 1;
      const email = `user-${count}-${process.pid}@example.com`;
      const answer = await call('POST', '/users', { email, ...more }, { as });
      return { answer, id: answer.body.data?.id as string, email };
    };

    test('a user is created with a password that is shown once, and logs in with it', async () => {
      const { answer, email } = await create();
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      const { password, ...user } = answer.body.data;
      expect(user).toEqual({
        id: expect.stringMatching(/^usr_/),
        email,
        role: 'sender',
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

    test.each(['fanfare-2026!', 'Administrator1', '123passwort123', '1234567890qwerty', 'abcabcabcabc'])(
      'the password %s is one of the commonest, and refused',
      async (password) => {
        const { answer } = await create({ password });
        expect([answer.status, answer.body.errors[0].code]).toEqual([422, 'too_common']);
      },
    );

    test.each([`${'ä'.repeat(6)}漢字かな交じり`, 'nothing but words here', 'x9'.repeat(5) + 'y'.repeat(246)])(
      'the password %s is taken, whatever it is made of',
      async (password) => {
        const { answer, email } = await create({ password });
        expect([answer.status, await loginStatus(email, password)]).toEqual([201, 200]);
      },
    );

    test('a password that the caller chose is not returned', async () => {
      const { answer, email } = await create({ password: 'chosen, and long', role: 'admin' });
      expect(answer.body.data).not.toHaveProperty('password');
      expect(answer.body.data.role).toBe('admin');
      expect(await loginStatus(email, 'chosen, and long')).toBe(200);
    });

    test('all problems of a user are reported at once', async () => {
      const answer = await call('POST', '/users', { email: 'x', role: 'king', password: 'short', more: 1 });
      expect(answer.status).toBe(422);
      const paths = answer.body.errors.map((error: { path: string }) => error.path);
      expect(paths.sort()).toEqual(['email', 'more', 'password', 'role']);
    });

    test('an email address that another user has is refused', async () => {
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
      expect([disabled.status, disabled.body.data.disabledAt]).toEqual([
        200,
        new Date(clock.nowMs).toISOString(),
      ]);
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
      const helper = await create({ role: 'admin', password: 'the helper’s own' }, rig.owner);
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
      expect((await call('PATCH', `/users/${helper.id}`, { role: 'owner' }, { as: rig.owner })).status).toBe(
        200,
      );
      expect((await call('PATCH', `/users/${helper.id}`, { role: 'admin' }, { as: rig.owner })).status).toBe(
        200,
      );
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
        { as: rig.owner },
      );
      expect([demoted.status, demoted.body.code]).toEqual([409, 'last_admin']);
    });

    test('two who demote each other at the same moment do not both succeed', async () => {
      const made = await newWorkspace(service.identity);
      const actor = { workspaceId: made.workspace.id, role: 'admin' } as const;
      const { users } = service.identity;
      const second = await users.create(actor, { email: `pair-${process.pid}@example.com`, role: 'admin' });
      const answers = await Promise.allSettled([
        users.setRole(actor, second.user.id, 'sender'),
        elsewhere.identity.users.disable(actor, made.user.id),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const refused = answers.find(({ status }) => status === 'rejected');
      expect(refused).toMatchObject({ reason: { code: 'last_admin' } });
    });
  });
});
