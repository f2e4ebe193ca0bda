import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../src/domain/limits';
import { totpCode } from '../../src/messaging/access/second-factor';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { type HttpAnswer, startService, type TestService } from './service';

const NEW = 'a-kettle-on-the-blue-stove';

describeWithDatabase('what users do with their own log-in', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let nowMs: number;
  beforeEach(async () => {
    db = (await database.open()).tables<MessagingTables>();
    nowMs = Date.parse('2026-11-21T10:15:00Z');
    service = await startService(db, { now: () => nowMs, audited: true });
  });
  afterEach(() => service.app.close());

  const credentials = () => ({
    email: service.workspace.user.email,
    password: service.workspace.user.password,
  });
  const login = (more: Record<string, unknown> = {}, headers = {}) =>
    service.call('POST', '/api/session', { body: { ...credentials(), ...more }, headers });
  const cookie = async (more = {}, headers = {}) => {
    const { headers: answered } = await login(more, headers);
    return { cookie: String(answered['set-cookie']).split(';')[0] as string };
  };
  const call = (headers: Record<string, string>, method: string, path: string, body?: unknown) =>
    service.call(method, path, { headers, ...(body === undefined ? {} : { body }) });

  async function audited(action: string): Promise<unknown[]> {
    const { rows } = await db.executeQuery<{ actor_id: string; result: string }>({
      sql: 'select actor_id, result from audit_entries where action = $1 order by seq',
      parameters: [action],
      query: { kind: 'RawNode' } as never,
      queryId: { queryId: 'audited' } as never,
    });
    return rows.map(({ result }) => result);
  }

  /** What the audit log tells of each log-in. */
  async function proofs(): Promise<unknown[]> {
    const { rows } = await sql<{ detail: unknown }>`
      select detail from audit_entries where action = 'session.login' order by seq`.execute(db);
    return rows.map(({ detail }) => detail);
  }

  describe('sessions', () => {
    test('a user sees where they are logged in, and which of the sessions asks', async () => {
      await cookie({}, { 'user-agent': 'Older\u00e9 browser' });
      nowMs += 1_000;
      const mine = await cookie({}, { 'user-agent': 'x'.repeat(1_000) });
      const { body } = await call(mine, 'GET', '/api/sessions');
      expect(body.data).toEqual([
        {
          id: expect.stringMatching(/^ses_/),
          createdAt: '2026-11-21T10:15:01.000Z',
          lastSeenAt: '2026-11-21T10:15:01.000Z',
          address: '127.0.0.1',
          userAgent: 'x'.repeat(LIMITS.userAgentChars),
          current: true,
        },
        expect.objectContaining({ userAgent: expect.stringMatching(/^Older\?+ browser$/), current: false }),
      ]);
      expect(await audited('session.login')).toEqual(['ok', 'ok']);
    });

    test('a session that the user ends is refused from then on, and another user cannot end it', async () => {
      const [stolen, mine] = [await cookie(), await cookie()];
      const { body } = await call(stolen, 'GET', '/api/sessions');
      const id = body.data.find(({ current }: { current: boolean }) => current).id;

      const other = await service.identity.createWorkspace({ name: 'Other', email: 'other@example.com' });
      const { token } = await service.identity.login({ ...other.user, address: 'tests' });
      const stranger = { cookie: `session_token=${token}` };
      expect((await call(stranger, 'DELETE', `/api/sessions/${id}`)).status).toBe(404);
      expect((await call(stranger, 'GET', '/api/sessions')).body.data).toHaveLength(1);

      expect((await call(mine, 'DELETE', `/api/sessions/${id}`)).status).toBe(200);
      expect((await call(stolen, 'GET', '/api/session')).status).toBe(401);
      expect((await call(mine, 'GET', '/api/session')).status).toBe(200);
      expect((await call(mine, 'DELETE', `/api/sessions/${id}`)).status).toBe(404);
      expect(await audited('session.revoke')).toEqual(['ok']);
    });
  });

  describe('passwords', () => {
    test('changing it ends the other sessions of the user, and the old one is worth nothing', async () => {
      const [other, mine] = [await cookie(), await cookie()];
      const { password } = credentials();
      expect((await call(mine, 'PUT', '/api/session/password', { current: password, new: NEW })).status).toBe(
        200,
      );
      expect((await call(other, 'GET', '/api/session')).status).toBe(401);
      expect((await call(mine, 'GET', '/api/session')).status).toBe(200);
      expect([(await login()).status, (await login({ password: NEW })).status]).toEqual([401, 200]);
      expect(await audited('session.password')).toEqual(['ok']);
    });

    test('a wrong current password is refused, and counts as a failed log-in', async () => {
      const mine = await cookie();
      const change = (current: string) => call(mine, 'PUT', '/api/session/password', { current, new: NEW });
      const wrong = await change('not the password');
      expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_password']);
      for (let i = 1; i < LIMITS.loginFailuresMax; i++) await change('not the password');
      expect((await change(credentials().password)).status).toBe(429);
      expect((await login()).status).toBe(429);
      expect((await audited('session.password'))[0]).toBe('refused');
    });

    test.each([
      ['eleven-char', 'too_small'],
      ['Password1234!', 'too_common'],
      ['qwertyuiop123', 'too_common'],
      ['abcabcabcabc', 'too_common'],
    ])('%s is refused as a new password: %s', async (chosen, code) => {
      const change = { current: credentials().password, new: chosen };
      const refused = await call(await cookie(), 'PUT', '/api/session/password', change);
      expect([refused.status, refused.body.errors[0].path, refused.body.errors[0].code]).toEqual([
        422,
        'new',
        code,
      ]);
    });
  });

  describe('one-time codes', () => {
    const codeAt = (secret: string, ms: number) => totpCode(secret, Math.floor(ms / 30_000));
    async function enrol(
      headers: Record<string, string>,
    ): Promise<{ secret: string; recoveryCodes: string[] }> {
      const begun = await call(headers, 'POST', '/api/session/totp', {});
      const { secret, otpauthUrl } = begun.body.data;
      expect(new URL(otpauthUrl).searchParams.get('secret')).toBe(secret);
      const confirmed = await call(headers, 'POST', '/api/session/totp', { code: codeAt(secret, nowMs) });
      return { secret, recoveryCodes: confirmed.body.data.recoveryCodes };
    }
    const refusal = ({ status, body }: HttpAnswer) => [status, body.code];

    test('codes are those of RFC 6238', () => {
      // The seed of its appendix B, 12345678901234567890, in base 32; the last six of its eight digits.
      const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
      const seconds = [59, 1111111109, 1111111111, 1234567890, 2000000000, 20000000000];
      expect(seconds.map((at) => codeAt(secret, at * 1_000))).toEqual([
        '287082',
        '081804',
        '050471',
        '005924',
        '279037',
        '353130',
      ]);
    });

    test('a log-in needs a code once they are confirmed, each code once', async () => {
      const mine = await cookie();
      const begun = await call(mine, 'POST', '/api/session/totp', {});
      expect((await login()).status).toBe(200);
      const wrong = await call(mine, 'POST', '/api/session/totp', { code: '000000' });
      expect([wrong.status, wrong.body.errors[0].code]).toEqual([422, 'wrong_code']);
      const { secret } = begun.body.data;
      await call(mine, 'POST', '/api/session/totp', { code: codeAt(secret, nowMs) });

      expect(refusal(await login())).toEqual([401, 'totp_required']);
      expect(refusal(await login({ totp: codeAt(secret, nowMs) }))).toEqual([401, 'unauthenticated']);
      // The clock of the device is ahead.
      const next = codeAt(secret, nowMs + 30_000);
      expect((await login({ totp: next })).status).toBe(200);
      expect((await login({ totp: next })).status).toBe(401);
      nowMs += 90_000;
      expect((await login({ totp: codeAt(secret, nowMs - 60_000) })).status).toBe(401);
      expect((await login({ totp: codeAt(secret, nowMs - 30_000) })).status).toBe(200);
      expect(refusal(await call(mine, 'POST', '/api/session/totp', {}))).toEqual([409, 'totp_enabled']);
      expect(await proofs()).toEqual([
        { by: 'password' },
        { by: 'password' },
        { factor: 'missing', count: 1 },
        { count: 1 },
        { by: 'password', factor: 'totp' },
        { by: 'password', factor: 'totp' },
      ]);
      expect([await audited('totp.begin'), await audited('totp.enable')]).toEqual([['ok'], ['ok']]);
    });

    test('of simultaneous log-ins with one code, one succeeds', async () => {
      const { secret } = await enrol(await cookie());
      const totp = codeAt(secret, nowMs + 30_000);
      const statuses = (await Promise.all([login({ totp }), login({ totp })])).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 401]);
    });

    test('a recovery code stands in once, however it is written; neither it nor the secret is stored as it is', async () => {
      const { secret, recoveryCodes } = await enrol(await cookie());
      expect(recoveryCodes).toHaveLength(10);
      // 120 bits each.
      for (const each of recoveryCodes) expect(each).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){6}$/);
      const code = recoveryCodes[3] as string;
      expect((await login({ totp: code.toUpperCase().replaceAll('-', ' ') })).status).toBe(200);
      expect((await login({ totp: code })).status).toBe(401);
      const stored = JSON.stringify([
        await db.selectFrom('totp_secrets').selectAll().execute(),
        await db.selectFrom('totp_recovery_codes').selectAll().execute(),
      ]);
      expect(stored).not.toContain(secret);
      for (const each of recoveryCodes) expect(stored).not.toContain(each.replaceAll('-', ''));
    });

    test('the user turns them off, and an administrator those of another user of the workspace', async () => {
      const mine = await cookie();
      await enrol(mine);
      expect((await call(mine, 'DELETE', '/api/session/totp')).status).toBe(200);
      expect((await login()).status).toBe(200);

      await enrol(mine);
      const { id } = service.workspace.user;
      const stranger = await service.identity.createWorkspace({ name: 'Other', email: 'o@example.com' });
      const { token } = await service.identity.login({ ...stranger.user, address: 'tests' });
      const reset = (headers: Record<string, string>) =>
        call(headers, 'DELETE', `/api/admin/users/${id}/totp`);
      expect((await reset({ cookie: `session_token=${token}` })).status).toBe(404);
      expect((await login()).status).toBe(401);
      expect((await reset(mine)).status).toBe(200);
      expect((await login()).status).toBe(200);
      expect(await audited('totp.reset')).toEqual(['ok']);
    });

    test('where they are demanded of all, a viewer without them may only set them up, and of administrators, may read', async () => {
      for (const [requireTotp, status] of [
        ['all', 403],
        ['admin', 200],
      ] as const) {
        const strict = await startService(db, { now: () => nowMs, requireTotp });
        const { id: workspaceId } = strict.workspace.workspace;
        const password = 'a-kettle-on-the-blue-stove';
        const email = `viewer-${requireTotp}@example.org`;
        await strict.identity.users.create(
          { workspaceId, role: 'owner' },
          { email, role: 'viewer', password },
        );
        const answer = await strict.call('POST', '/api/session', { body: { email, password } });
        const headers = { cookie: String(answer.headers['set-cookie']).split(';')[0] as string };
        expect((await strict.call('GET', '/api/template/?channel=sms', { headers })).status).toBe(status);
        await strict.app.close();
      }
    });

    test('where they are demanded, an administrator without them may only set them up', async () => {
      const strict = await startService(db, { now: () => nowMs, requireTotp: 'admin' });
      try {
        const body = { email: strict.workspace.user.email, password: strict.workspace.user.password };
        const answer = await strict.call('POST', '/api/session', { body });
        const headers = { cookie: String(answer.headers['set-cookie']).split(';')[0] as string };
        const users = () => strict.call('GET', '/api/admin/users', { headers });
        expect(refusal(await users())).toEqual([403, 'enrolment_required']);
        const statuses = await Promise.all(
          ['/api/template/', '/api/sessions', '/api/session'].map((path) =>
            strict.call('GET', path, { headers }).then(({ status }) => status),
          ),
        );
        expect(statuses).toEqual([403, 403, 200]);
        const begun = await strict.call('POST', '/api/session/totp', { headers, body: {} });
        const code = codeAt(begun.body.data.secret, nowMs);
        expect((await strict.call('POST', '/api/session/totp', { headers, body: { code } })).status).toBe(
          200,
        );
        expect((await users()).status).toBe(200);
      } finally {
        await strict.app.close();
      }
    });
  });
});
