/** Proves how workspaces and their credentials are created, used and ended. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { SCOPES } from '../../../src/domain/access';
import { createIdentity, type Identity } from '../../../src/messaging/access/identity';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

const passwordCost = { log2N: 10, r: 8, p: 1 };

describeWithDatabase('identity', (database) => {
  let db: Kysely<MessagingTables>;
  let identity: Identity;
  let nowMs: number;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(() => {
    nowMs = Date.now();
    identity = createIdentity({ db, now: () => nowMs, passwordCost });
  });
  const create = (email: string) => identity.createWorkspace({ name: 'W', email });

  test('a new workspace has a user, a client, a key and an event log, and the first one an owner', async () => {
    const fresh = (await database.open()).tables<MessagingTables>();
    identity = createIdentity({ db: fresh, passwordCost });
    expect(await identity.isEmpty()).toBe(true);
    const [first, second] = await Promise.all([create('a@example.com'), create('b@example.com')]);
    expect(await identity.isEmpty()).toBe(false);
    const users = await fresh.selectFrom('users').select('role').orderBy('role').execute();
    expect(users.map(({ role }) => role)).toEqual(['admin', 'owner']);
    const heads = await fresh.selectFrom('event_heads').selectAll().execute();
    expect(heads.map((head) => head.next_seq)).toEqual([1, 1]);

    for (const { workspace, user, client, apiKey } of [first, second]) {
      const { email, password } = user;
      const { token } = await identity.login({ email, password, address: 'x' });
      expect(await identity.bySession(token)).toMatchObject({ workspaceId: workspace.id, userId: user.id });
      const known = await identity.checkClient({ ...client, address: 'x' });
      expect(known).toMatchObject({ clientId: client.id, workspaceId: workspace.id });
      const { accessToken } = await identity.issueToken(known, 1);
      expect(await identity.byAccessToken(accessToken)).toEqual({
        workspaceId: workspace.id,
        clientId: client.id,
        scopes: SCOPES,
        via: 'bearer',
      });
      expect(await identity.byApiKey(apiKey)).toEqual({
        ...{ id: expect.stringMatching(/^key_/), workspaceId: workspace.id, scopes: SCOPES },
      });
    }
  });

  test('a log-in that names a user or a client that there is not is told of, without the name', async () => {
    const told: unknown[] = [];
    identity = createIdentity({ db, passwordCost, onUnknown: (...given) => told.push(given) });
    const origin = { address: null, userAgent: null, requestId: 'req-1' };
    const user = { email: 'stranger@example.com', password: 'x', address: 'y', origin };
    await expect(identity.login(user)).rejects.toMatchObject({ code: 'unauthenticated' });
    const client = { id: 'cli_none', secret: 'x', address: 'y', origin };
    await expect(identity.checkClient(client)).rejects.toMatchObject({ code: 'invalid_client' });
    await until('both are told', async () => told.length === 2);
    expect(told).toEqual([
      ['user', 'req-1'],
      ['client', 'req-1'],
    ]);
  });

  test('a password may be chosen', async () => {
    const input = { name: 'W', email: 'c@example.com', password: 'chosen' };
    expect((await identity.createWorkspace(input)).user.password).toBe('chosen');
    expect((await identity.login({ ...input, address: 'x' })).user.email).toBe('c@example.com');
  });

  test('a credential in use asks the database once in four seconds', async () => {
    const { client, apiKey } = await create('d@example.com');
    const known = await identity.checkClient({ ...client, address: 'x' });
    const { accessToken } = await identity.issueToken(known, 1);
    await Promise.all([identity.byAccessToken(accessToken), identity.byApiKey(apiKey)]);
    await db.deleteFrom('access_tokens').execute();
    await db.updateTable('api_keys').set({ revoked_at: new Date() }).execute();
    nowMs += 3_999;
    expect(await identity.byAccessToken(accessToken)).toBeDefined();
    expect(await identity.byApiKey(apiKey)).toBeDefined();
    nowMs += 1;
    expect(await identity.byAccessToken(accessToken)).toBeUndefined();
    expect(await identity.byApiKey(apiKey)).toBeUndefined();
  });

  test('a session that was ended while it was being read is not remembered', async () => {
    const { user } = await create('e@example.com');
    const { token } = await identity.login({ ...user, address: 'x' });
    const reading = identity.bySession(token);
    await identity.logout(token);
    await reading;
    expect(await identity.bySession(token)).toBeUndefined();
  });

  describe('while a password is being checked', () => {
    /** Costly enough that the change comes first. */
    const slow = { log2N: 15, r: 8, p: 3 };
    const UNDER_WAY_MS = 60;

    async function known(email: string) {
      const made = createIdentity({ db, passwordCost: slow });
      const { workspace, user } = await made.createWorkspace({ name: 'W', email });
      return { user, actor: { workspaceId: workspace.id, role: 'owner' as const } };
    }

    test('a log-in opens no session after the password was reset', async () => {
      const { user, actor } = await known('g@example.com');
      const login = identity.login({ ...user, address: 'x' }).catch((error: unknown) => error);
      await sleep(UNDER_WAY_MS);
      await identity.users.resetPassword(actor, user.id, {});
      expect(await login).toMatchObject({ code: 'unauthenticated' });
      expect(await identity.sessionsOf(user.id)).toEqual([]);
    });

    test('a log-in opens no session for a user who was disabled, which would count when they are enabled', async () => {
      const { user, actor } = await known('h@example.com');
      await identity.users.create(actor, { email: 'i@example.com', role: 'owner' });
      const login = identity.login({ ...user, address: 'x' }).catch((error: unknown) => error);
      await sleep(UNDER_WAY_MS);
      await identity.users.disable(actor, user.id);
      expect(await login).toMatchObject({ code: 'unauthenticated' });
      expect(await identity.sessionsOf(user.id)).toEqual([]);
    });

    test('a user who changes it does not change it back from what an administrator has set', async () => {
      const { user, actor } = await known('j@example.com');
      const who = { userId: user.id, sessionId: 'ses_x', address: 'x' };
      const changing = identity
        .changePassword(who, { current: user.password, new: 'chosen by who knew the old one' })
        .catch((error: unknown) => error);
      await sleep(UNDER_WAY_MS);
      const { password } = await identity.users.resetPassword(actor, user.id, {});
      expect(await changing).toMatchObject({ code: 'wrong_password' });
      await identity.login({ email: user.email, password, address: 'x' });
    });
  });

  test('a client that was disabled, or lost its secret, after it was checked gets no token', async () => {
    const { workspace, client } = await create('k@example.com');
    const replaced = await identity.checkClient({ ...client, address: 'x' });
    const rotation = { overlapHours: 0, revokeTokens: true };
    const { secret } = await identity.clients.rotate(workspace.id, client.id, rotation);
    await expect(identity.issueToken(replaced, 1)).rejects.toMatchObject({ code: 'invalid_client' });

    const disabled = await identity.checkClient({ id: client.id, secret, address: 'x' });
    await identity.clients.disable(workspace.id, client.id);
    await expect(identity.issueToken(disabled, 1)).rejects.toMatchObject({ code: 'invalid_client' });
    await identity.clients.enable(workspace.id, client.id);
    expect((await identity.issueToken(disabled, 1)).accessToken).toBeDefined();
  });

  test('secrets of every kind are unknown to the database', async () => {
    const made = await create('f@example.com');
    const rows = await Promise.all([
      db.selectFrom('api_clients').selectAll().execute(),
      db.selectFrom('api_keys').selectAll().execute(),
      db.selectFrom('users').selectAll().execute(),
    ]);
    for (const secret of [made.apiKey, made.client.secret, made.user.password]) {
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
    expect(rows[1].map(({ prefix }) => prefix)).toContain(made.apiKey.slice(0, 10));
  });
});
