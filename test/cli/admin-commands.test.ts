/** Proves the commands that create users and clients. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { writeCredentials } from '../../src/credentials/credentials';
import { totpCode } from '../../src/messaging/access/second-factor';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { basic, startService, type TestService } from '../http/service';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

describeWithDatabase('fanfare user create and client create', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let dataDir: string;

  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    service = await startService(db);
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-admin-'));
    await writeCredentials(dataDir, { ...service.workspace, baseUrl: service.url });
  });
  afterAll(async () => {
    await service.app.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeEach(() => db.deleteFrom('failed_attempts').execute());

  const fanfare = (args: string[], { env = {}, input = '' } = {}) =>
    runFanfare(args, { FANFARE_DATA_DIR: dataDir, ...env }, input).ended;
  const login = async (email: string, password: string) =>
    service.call('POST', '/api/session', { body: { email, password } });

  test(
    'a user is created, printed as JSON, and logs in',
    async () => {
      const { out, code } = await fanfare(['user', 'create', '--email', 'a@example.com', '--json']);
      expect(code).toBe(0);
      const user = JSON.parse(out);
      expect(user).toMatchObject({ email: 'a@example.com', role: 'sender' });
      expect((await login('a@example.com', user.password)).status).toBe(200);
      // The command has ended the session that it needed.
      const sessions = db.selectFrom('sessions').select('user_id');
      const left = await sessions.where('user_id', '=', service.workspace.user.id).execute();
      expect(left).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'a password may come from the standard input, and a role be given',
    async () => {
      const { out, code } = await fanfare(
        ['user', 'create', '--email', 'b@example.com', '--role', 'admin', '--password-stdin'],
        { input: 'from a pipe, long enough\n' },
      );
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/^User usr_\w+ was created with the role admin\.\n$/),
      ]);
      expect((await login('b@example.com', 'from a pipe, long enough')).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  test(
    'a client is created and gets a token, with nothing but the environment to go by',
    async () => {
      const { email, password } = service.workspace.user;
      const { token } = await service.identity.login({ email, password, address: 'tests' });
      const { out, code } = await fanfare(['client', 'create', '--name', 'Backend'], {
        env: {
          FANFARE_DATA_DIR: tmpdir(),
          FANFARE_APP_URL: `${service.url}/`,
          FANFARE_SESSION_COOKIE: token,
        },
      });
      expect(code).toBe(0);
      const [, id = '', secret = ''] =
        /^Client (\S+) was created\.\nSecret, shown this once: (\S+)\n$/.exec(out) ?? [];
      const asked = await service.call('POST', '/api/v1/auth/token', {
        body: { grant_type: 'client_credentials' },
        headers: { authorization: basic(id, secret) },
      });
      expect(asked.status).toBe(200);
    },
    TIMEOUT_MS,
  );

  test(
    'a log-in that is refused says what to do: a changed password, a session that has ended, a one-time code',
    async () => {
      const { id, email, password } = service.workspace.user;
      const changed = mkdtempSync(join(tmpdir(), 'fanfare-changed-'));
      await writeCredentials(changed, {
        ...service.workspace,
        ...{ user: { id, email, password: `${password}-before` }, baseUrl: service.url },
      });
      const ended = { FANFARE_APP_URL: service.url, FANFARE_SESSION_COOKIE: 'none' };
      const create = ['client', 'create', '--name', 'x'];
      const [wrong, old] = [
        await fanfare(create, { env: { FANFARE_DATA_DIR: changed } }),
        await fanfare(create, { env: ended }),
      ];
      rmSync(changed, { recursive: true });
      expect([wrong.code, wrong.err]).toEqual([
        1,
        expect.stringMatching(/was changed, write .*credentials\.json/),
      ]);
      expect([old.code, old.err]).toEqual([1, expect.stringContaining('Log in again')]);

      const { token } = await service.identity.login({ email, password, address: 'tests' });
      const headers = { cookie: `session_token=${token}` };
      const begun = await service.call('POST', '/api/session/totp', { headers, body: {} });
      const code = totpCode(begun.body.data.secret, Math.floor(Date.now() / 30_000));
      await service.call('POST', '/api/session/totp', { headers, body: { code } });
      const coded = await fanfare(create);
      expect([coded.code, coded.err]).toEqual([1, expect.stringContaining('cannot give a one-time code')]);
      await db.deleteFrom('totp_secrets').where('user_id', '=', id).execute();
    },
    TIMEOUT_MS,
  );

  test(
    'what is refused ends with 1 and says why, and wrong usage with 2',
    async () => {
      const email = service.workspace.user.email;
      const [taken, nothing, away, usage, role] = await Promise.all([
        fanfare(['user', 'create', '--email', email]),
        fanfare(['client', 'create', '--name', 'x'], { env: { FANFARE_DATA_DIR: tmpdir() } }),
        fanfare(['client', 'create', '--name', 'x'], { env: { FANFARE_APP_URL: 'http://127.0.0.1:1' } }),
        fanfare(['user', 'create']),
        fanfare(['user', 'create', '--email', 'c@example.com', '--role', 'king']),
      ]);
      expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('answered 409')]);
      expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining('FANFARE_APP_URL is not set')]);
      expect([away.code, away.err]).toEqual([1, expect.stringContaining('Nothing answers at')]);
      expect([usage.code, role.code]).toEqual([2, 2]);
      for (const { out } of [taken, nothing, away, usage, role]) expect(out).toBe('');
    },
    TIMEOUT_MS,
  );
});
