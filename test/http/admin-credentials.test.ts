/** Proves how clients, keys and workspaces are created, rotated and ended. */

import type { Kysely } from 'kysely';
import { SCOPES_DEFAULT } from '../../src/domain/access';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { type AdminRig, startAdministration } from './admin-rig';
import type { TestService } from './service';

const HOUR = 3_600_000;

describeWithDatabase('administration of credentials', (database) => {
  let db: Kysely<MessagingTables>;
  let rig: AdminRig;
  let service: TestService;
  let elsewhere: TestService;
  let clock: AdminRig['clock'];
  let call: AdminRig['call'];
  let cookieFor: AdminRig['cookieFor'];
  let loginStatus: AdminRig['loginStatus'];
  let askToken: AdminRig['askToken'];
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    rig = await startAdministration(db);
    ({ service, elsewhere, clock, call, cookieFor, loginStatus, askToken } = rig);
  });
  afterAll(() => rig.stop());

  const works = async (on: TestService, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await on.call('GET', '/api/template?channel=sms', { headers })).status === 200;
  };

  describe('clients', () => {
    const create = async () =>
      (await call('POST', '/clients', { name: 'Backend' })).body.data as { id: string; secret: string };

    test('a client is created with a secret that is shown once, and gets tokens', async () => {
      const answer = await call('POST', '/clients', { name: 'Backend' });
      expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
      const { secret, ...client } = answer.body.data;
      expect(client).toEqual({
        id: expect.stringMatching(/^cli_/),
        name: 'Backend',
        scopes: SCOPES_DEFAULT,
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
      expect(till).toBe(clock.nowMs + 24 * HOUR);
      const tries = async () => [
        (await askToken({ id, secret })).status,
        (await askToken({ id, secret: rotated.body.data.secret })).status,
      ];
      expect(await tries()).toEqual([200, 200]);
      clock.nowMs = till;
      expect(await tries()).toEqual([401, 200]);
      rig.admin = await cookieFor(rig.other.user);
      rig.owner = await cookieFor(service.workspace.user);
    });

    test('the overlap is chosen, and without one every earlier secret stops at once', async () => {
      const { id, secret } = await create();
      const second = (await call('POST', `/clients/${id}/rotate`, { overlapHours: 168 })).body.data;
      const third = (await call('POST', `/clients/${id}/rotate`, { overlapHours: 1 })).body.data;
      expect(Date.parse(third.oldSecretValidTill)).toBe(clock.nowMs + HOUR);
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
      clock.nowMs += 5_000;
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
      expect(disabled.body.data.disabledAt).toBe(new Date(clock.nowMs).toISOString());
      expect([await works(service, token), (await askToken({ id, secret })).status]).toEqual([false, 401]);
      clock.nowMs += 5_000;
      expect(await works(elsewhere, token)).toBe(false);

      expect((await call('POST', `/clients/${id}/enable`)).body.data.disabledAt).toBeNull();
      clock.nowMs += 5_000;
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
        scopes: SCOPES_DEFAULT,
        createdAt: expect.any(String),
        revokedAt: null,
      });
      expect((await call('GET', '/api-keys')).body.data).toContainEqual(listed);
      const workspaceOf = [service, elsewhere].map(
        ({ identity }) =>
          () =>
            identity.byApiKey(key),
      );
      for (const find of workspaceOf)
        expect(await find()).toEqual({
          ...{ id: listed.id, workspaceId: rig.other.workspace.id, scopes: SCOPES_DEFAULT },
        });

      const revoked = await call('DELETE', `/api-keys/${listed.id}`);
      expect(revoked.body.data.revokedAt).toBe(new Date(clock.nowMs).toISOString());
      expect(await workspaceOf[0]?.()).toBeUndefined();
      clock.nowMs += 5_000;
      expect(await workspaceOf[1]?.()).toBeUndefined();
      expect((await call('DELETE', `/api-keys/${listed.id}`)).body.data).toEqual(revoked.body.data);
    });
  });

  describe('workspaces', () => {
    test('the owner of the installation creates one, with everything its users need, shown once', async () => {
      const email = `new-${process.pid}@example.com`;
      const answer = await call('POST', '/workspaces', { name: 'A customer', email }, { as: rig.owner });
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
      const again = await call('POST', '/workspaces', { name: 'B', email }, { as: rig.owner });
      expect([again.status, again.body.code]).toEqual([409, 'name_taken']);
    });

    test('the owner of the installation lists all, newest first and by page', async () => {
      const { status, body } = await call('GET', '/workspaces?limit=100', undefined, { as: rig.owner });
      const ids = body.data.map(({ id }: { id: string }) => id);
      expect([status, ids]).toEqual([200, expect.arrayContaining([rig.other.workspace.id])]);
      expect(ids).toEqual([...ids].sort().reverse());
      expect(body.data[0]).toEqual({
        id: expect.stringMatching(/^ws_/),
        name: expect.any(String),
        createdAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/),
      });
      expect(body.pagination).toEqual({ page: 1, limit: 100, total: ids.length });
      const second = await call('GET', '/workspaces?page=2&limit=1', undefined, { as: rig.owner });
      expect(second.body.data).toEqual([body.data[1]]);
    });

    test('an admin makes none and lists none', async () => {
      const answer = await call('POST', '/workspaces', { name: 'X', email: 'x@example.com' });
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      const listed = await call('GET', '/workspaces');
      expect([listed.status, listed.body.code]).toEqual([403, 'forbidden']);
    });
  });

  test('ids of another workspace are unknown', async () => {
    const [client, key] = [
      service.workspace.client.id,
      (await call('GET', '/api-keys', undefined, { as: rig.owner })).body.data[0].id,
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
