/** Proves log-in, log-out and the session’s cookie. */

import type { Kysely } from 'kysely';
import { createAttemptLimit, loginSubjects } from '../../src/messaging/access/attempt-limit';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { type HttpAnswer, newWorkspace, startService, type TestService } from './service';

const HOUR = 3_600_000;

describeWithDatabase('sessions', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(async () => {
    nowMs = Date.now();
    // Every test calls from the same address.
    await db.deleteFrom('failed_attempts').execute();
    service = await startService(db, { now: () => nowMs });
  });
  afterEach(() => service.app.close());

  const login = (body: unknown = credentials(), headers = {}) =>
    service.call('POST', '/api/session', { body, headers });
  const credentials = () => ({
    email: service.workspace.user.email,
    password: service.workspace.user.password,
  });
  const whoAmI = async (cookie: string) => service.call('GET', '/api/session', { headers: { cookie } });

  test('a user logs in, is known by the cookie, and logs out', async () => {
    const answer = await login();
    expect(answer.status).toBe(200);
    const { user, workspace } = service.workspace;
    const known = {
      id: user.id,
      email: user.email,
      role: expect.stringMatching(/^(owner|admin)$/),
      workspace,
    };
    expect(answer.body).toEqual({ success: true, user: known });

    const cookie = cookieOf(answer);
    expect((await whoAmI(`theme=dark; ${cookie}; a=b`)).body).toEqual({ success: true, user: known });
    const ended = await service.call('DELETE', '/api/session', { headers: { cookie } });
    expect([ended.status, ended.headers['set-cookie']]).toEqual([200, expect.stringContaining('Max-Age=0')]);
    expect((await whoAmI(cookie)).status).toBe(401);
  });

  test('a log-in in a browser that has a session ends that one, and no other', async () => {
    const [before, elsewhere] = [cookieOf(await login()), cookieOf(await login())];
    const after = cookieOf(await login(credentials(), { cookie: before }));
    const statuses = await Promise.all(
      [before, elsewhere, after].map(async (one) => (await whoAmI(one)).status),
    );
    expect(statuses).toEqual([401, 200, 200]);
    const wrong = { ...credentials(), password: 'not the right one' };
    expect((await login(wrong, { cookie: after })).status).toBe(401);
    expect((await whoAmI(after)).status).toBe(200);
  });

  test('the cookie is kept from scripts and other sites, and needs https when the public address is', async () => {
    expect((await login()).headers['set-cookie']).toMatch(
      /^session_token=[\w-]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
    );
    const secure = await startService(db, { publicUrl: 'https://fanfare.example.com' });
    const { email, password } = secure.workspace.user;
    const answer = await secure.call('POST', '/api/session', { body: { email, password } });
    const cookies = answer.headers['set-cookie'] as string[];
    const attributes = 'Path=/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure';
    expect(cookies.map((cookie) => cookie.replace(/=[\w-]+/, ''))).toEqual([
      `session_token; ${attributes}`,
      `__Host-session_token; ${attributes}`,
    ]);
    const who = async (cookie: string) =>
      (await secure.call('GET', '/api/session', { headers: { cookie } })).status;
    const token = /=([\w-]+);/.exec(cookies[0] as string)?.[1];
    expect(await who(`session_token=${token}`)).toBe(200);
    expect(await who(`session_token=planted; __Host-session_token=${token}`)).toBe(200);
    expect(await who(`session_token=${token}; __Host-session_token=planted`)).toBe(401);
    await secure.app.close();
  });

  test('the email address is found whatever its case', async () => {
    const { email, password } = credentials();
    expect((await login({ email: email.toUpperCase(), password })).status).toBe(200);
  });

  test('an unknown user and a wrong password get the same answer', async () => {
    const wrong = await login({ ...credentials(), password: 'wrong' });
    const unknown = await login({ email: 'nobody@example.com', password: 'wrong' });
    expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([401, 'Bearer realm="fanfare"']);
    expect({ ...wrong.body, instance: '' }).toEqual({ ...unknown.body, instance: '' });
  });

  test('five failures of a user from an address make both wait for a minute, side by side as well', async () => {
    const wrong = { ...credentials(), password: 'wrong' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => login(wrong)));
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const closed = await login();
    expect([closed.status, closed.body.code]).toEqual([429, 'too_many_attempts']);
    expect(closed.headers['retry-after']).toBe('60');
    nowMs += 60_000;
    expect((await login()).status).toBe(200);
  });

  test('each further failure doubles the wait, up to a quarter of an hour', async () => {
    const wrong = { ...credentials(), password: 'wrong' };
    for (let i = 0; i < 5; i++) await login(wrong);
    for (const seconds of [60, 120, 240, 480, 900, 900]) {
      expect((await login()).headers['retry-after']).toBe(String(seconds));
      nowMs += seconds * 1_000;
      expect((await login(wrong)).status).toBe(401);
    }
    nowMs += 2 * 900_000;
    for (let i = 0; i < 4; i++) expect((await login(wrong)).status).toBe(401);
    expect((await login()).status).toBe(200);
  });

  test('failures from elsewhere do not keep a user out, up to a hundred of them', async () => {
    const { email } = credentials();
    const attempts = createAttemptLimit(db, () => nowMs);
    const guess = (from: number) =>
      attempts.attempt(loginSubjects(email, `192.0.2.${from}`), async () => undefined);
    for (let i = 0; i < 99; i++) await guess(i);
    expect((await login()).status).toBe(200);
    await guess(99);
    expect((await login()).status).toBe(429);
  });

  test('a thousand failures from an address make every user there wait, and none elsewhere', async () => {
    const attempts = createAttemptLimit(db, () => nowMs);
    const guess = (user: string, from: string) =>
      attempts.attempt(loginSubjects(user, from), async () => undefined);
    await guess('first@example.com', '192.0.2.1');
    await db.updateTable('failed_attempts').set({ count: 999 }).execute();
    await guess('second@example.com', '192.0.2.1').catch(() => undefined);
    await expect(guess('third@example.com', '192.0.2.1')).rejects.toMatchObject({
      code: 'too_many_attempts',
    });
    expect(await guess('third@example.com', '192.0.2.2')).toBeUndefined();
  });

  test('logging in correctly is not counted, side by side either', async () => {
    const answers = await Promise.all(Array.from({ length: 7 }, () => login()));
    expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(200));
  });

  test('failures count on every process, and after a restart', async () => {
    const wrong = { ...credentials(), password: 'wrong' };
    for (let i = 0; i < 3; i++) await login(wrong);
    const second = await startService(db, { now: () => nowMs });
    const there = (body: unknown) => second.call('POST', '/api/session', { body });
    expect([(await there(wrong)).status, (await there(wrong)).status]).toEqual([401, 401]);
    expect((await there(credentials())).status).toBe(429);
    expect((await login()).status).toBe(429);
    await second.app.close();
  });

  test('behind a trusted proxy, its header gives the address, and no other caller’s does', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const wrong = () => ({ email: 'guessed@example.com', password: 'x' });
    const proxied = await startService(db, { now: () => nowMs, trustProxy: ['127.0.0.1'] });
    const through = async (address: string, body: unknown) =>
      (await proxied.call('POST', '/api/session', { body, headers: from(address) })).status;
    for (let i = 0; i < 5; i++) expect(await through('2001:db8:1:2::1', wrong())).toBe(401);
    expect(await through('2001:0db8:0001:2:ffff::1', wrong())).toBe(429);
    expect(await through('2001:db8:1:3::1', wrong())).toBe(401);
    expect(await through('192.0.2.1', wrong())).toBe(401);
    await proxied.app.close();

    for (let i = 0; i < 5; i++) await login(wrong(), from(`192.0.2.${i}`));
    expect((await login(wrong(), from('192.0.2.99'))).status).toBe(429);
  });

  test('a session in use lasts seven days and not longer', async () => {
    const cookie = cookieOf(await login());
    const begin = nowMs;
    for (let hours = 11; hours < 7 * 24; hours += 11) {
      nowMs = begin + hours * HOUR;
      expect((await whoAmI(cookie)).status).toBe(200);
    }
    nowMs = begin + 7 * 24 * HOUR;
    expect((await whoAmI(cookie)).status).toBe(401);
  });

  test('a session not used for twelve hours has ended', async () => {
    const cookie = cookieOf(await login());
    nowMs += 12 * HOUR;
    expect((await whoAmI(cookie)).status).toBe(401);
  });

  test('a session in use is written to at most once a minute', async () => {
    const cookie = cookieOf(await login());
    const seen = async () =>
      (
        await db
          .selectFrom('sessions')
          .select('last_seen_at')
          .where('user_id', '=', service.workspace.user.id)
          .executeTakeFirstOrThrow()
      ).last_seen_at.getTime();
    const begin = nowMs;
    nowMs = begin + 59_000;
    await whoAmI(cookie);
    expect(await seen()).toBe(begin);
    nowMs = begin + 64_000;
    await whoAmI(cookie);
    expect(await seen()).toBe(nowMs);
  });

  test('a disabled user is out within five seconds and does not come in again', async () => {
    const cookie = cookieOf(await login());
    await whoAmI(cookie);
    const { id } = service.workspace.user;
    await db.updateTable('users').set({ disabled_at: new Date() }).where('id', '=', id).execute();
    nowMs += 5_000;
    expect((await whoAmI(cookie)).status).toBe(401);
    expect((await login()).status).toBe(401);
  });

  test('another site can neither log a visitor in nor out', async () => {
    const cookie = cookieOf(await login());
    const headers = { origin: 'https://evil.example.com' };
    expect((await login(credentials(), headers)).body.code).toBe('cross_site');
    const ended = await service.call('DELETE', '/api/session', { headers: { ...headers, cookie } });
    expect([ended.status, ended.body.code]).toEqual([403, 'cross_site']);
  });

  test('a log-in with missing or unknown fields says which', async () => {
    const answer = await login({ email: 'a@example.com', user: 'x' });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toEqual(['password', 'user']);
  });

  test('neither passwords nor cookies are kept as they are', async () => {
    const answer = await login();
    const kept = JSON.stringify([
      await db.selectFrom('users').selectAll().execute(),
      await db.selectFrom('sessions').selectAll().execute(),
    ]);
    expect(kept).not.toContain(service.workspace.user.password);
    expect(kept).not.toContain(cookieOf(answer).split('=')[1]);
  });

  test('an email address belongs to one user, and a workspace that cannot have its user is not made', async () => {
    const { email } = service.workspace.user;
    const count = async () => (await db.selectFrom('workspaces').select('id').execute()).length;
    const before = await count();
    const again = service.identity.createWorkspace({ name: 'Again', email: email.toUpperCase() });
    await expect(again).rejects.toMatchObject({ code: 'name_taken' });
    expect(await count()).toBe(before);
    await newWorkspace(service.identity);
    expect(await count()).toBe(before + 1);
  });
});

function cookieOf(answer: HttpAnswer): string {
  return String(answer.headers['set-cookie']).split(';')[0] as string;
}
