/** Proves what the doctor command finds, and that it changes nothing. */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAccount } from '../../src/app/accounts';
import { type ProcessTables, recordProcess } from '../../src/app/processes';
import { openSecretsModule } from '../../src/app/secrets-module';
import { readConfig } from '../../src/config';
import { writeCredentials } from '../../src/credentials/credentials';
import { createLog } from '../../src/log';
import { openStorage, type Storage } from '../../src/storage/storage';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { asUser } from '../support/as-user';
import { makeCertificate } from '../support/certificate';
import { type FakeJsonCarrier, startFakeTelnyx } from '../support/fake-json-carrier';
import { runFanfare } from '../support/fanfare-command';
import { openLine } from '../support/line';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

interface Finding {
  check: string;
  state: string;
  found: string;
  wayOut?: string;
}

describeWithDatabase('fanfare doctor', (database) => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-doctor-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  async function doctor(env: Record<string, string> = {}) {
    const { code, out, err } = await runFanfare(['doctor', '--json'], { FANFARE_DATA_DIR: directory, ...env })
      .ended;
    expect(err).toBe('');
    const { healthy, findings } = JSON.parse(out) as { healthy: boolean; findings: Finding[] };
    expect(healthy).toBe(code === 0);
    return { code, findings, of: (check: string) => findings.filter((one) => one.check === check) };
  }

  test(
    'before the first start nothing is broken, and it is said what is not there yet',
    async () => {
      const { code, findings, of } = await doctor();
      expect([code, findings.filter(({ state }) => state === 'broken')]).toEqual([0, []]);
      expect(of('instance')).toMatchObject([{ state: 'note', wayOut: 'Start one with `fanfare up`.' }]);
      expect(of('sms provider')[0]?.found).toContain('simulator');
      const text = await runFanfare(['doctor'], { FANFARE_DATA_DIR: directory }).ended;
      expect(text.out).toMatch(/^ok {6}node .*Nothing is broken\.\n$/s);
    },
    TIMEOUT_MS,
  );

  test(
    'processes that run while nothing answers where campaigns are sent through are named, with what to do',
    async () => {
      const place = await database.place({ migrated: true });
      const storage = await openStorage(place);
      const db = storage.tables<ProcessTables>();
      const baseUrl = 'http://127.0.0.1:1';
      const login = { id: 'x', email: 'x@example.com', password: 'x', secret: 'x', name: 'x' };
      const made = { ...{ workspace: login, user: login, client: login, apiKey: 'x' }, baseUrl };
      const looked = async () =>
        (await doctor({ DATABASE_URL: place.databaseUrl, TEMPORAL_ADDRESS: '127.0.0.1:1' })).of('instance');
      const lost = await recordProcess({ db, roles: ['http'], buildId: undefined, log: createLog('silent') });
      const isGone = /^1 process of the installation runs, and .*credentials\.json is not there$/;
      expect(await looked()).toMatchObject([{ state: 'broken', found: expect.stringMatching(isGone) }]);
      await lost.stop();
      await writeCredentials(directory, made);
      expect(await looked()).toMatchObject([
        { state: 'note', wayOut: expect.stringContaining('fanfare serve') },
      ]);
      const log = createLog('silent');
      const sending = await recordProcess({ db, roles: ['sender'], buildId: undefined, log });
      expect(await looked()).toMatchObject([
        {
          state: 'broken',
          found: expect.stringMatching(/127\.0\.0\.1:1: .*, and 1 process of the installation runs/),
          wayOut: expect.stringMatching(/^Start `fanfare serve` .*FANFARE_SEND_URL/),
        },
      ]);
      await sending.stop();
      await storage.close();
    },
    TIMEOUT_MS,
  );

  test(
    'an instance whose database is away is named as that within seconds, and no secret or log-in is blamed',
    async () => {
      const place = await database.place({ migrated: true });
      const url = new URL(place.databaseUrl);
      const port = Number(url.port);
      const line = await openLine(() => port);
      url.port = String(line.port);
      const storage = await openStorage({ ...place, databaseUrl: url.href });
      const api = await startWholeApi(storage);
      await writeCredentials(directory, { ...(await newWorkspace(api.identity)), baseUrl: api.url });
      line.cut();
      const startedAt = Date.now();
      const { code, findings, of } = await doctor({ DATABASE_URL: url.href });
      const seconds = (Date.now() - startedAt) / 1_000;
      line.mend();
      await api.stop();
      await storage.close();
      line.close();
      expect([code, of('database')]).toMatchObject([1, [{ state: 'broken' }]]);
      expect(findings.filter(({ wayOut }) => /secret|credentials\.json/.test(wayOut ?? ''))).toEqual([]);
      expect(of('accounts')).toMatchObject([
        { state: 'note', wayOut: expect.stringMatching(/^Run it again /) },
      ]);
      expect(seconds).toBeLessThan(40);
    },
    TIMEOUT_MS,
  );

  test(
    'everything that cannot be reached is named at once, with what to do, and no secret is shown',
    async () => {
      const { code, findings, of } = await doctor({
        DATABASE_URL: 'postgres://somebody:hunter2@127.0.0.1:1/x',
        TEMPORAL_ADDRESS: '127.0.0.1:1',
        FANFARE_SMS_PROVIDER: 'http',
        FANFARE_SMS_HTTP_URL: 'http://127.0.0.1:1/out?key=hunter2',
        FANFARE_EMAIL_PROVIDER: 'smtp',
        FANFARE_SMTP_URL: 'smtp://me:hunter2@127.0.0.1:1',
        FANFARE_AUTH_URL: 'http://127.0.0.1:1',
        FANFARE_APP_URL: 'http://127.0.0.1:1',
        FANFARE_CLIENT_ID: 'cli_1',
        FANFARE_CLIENT_SECRET: 'hunter2',
        FANFARE_API_KEY: 'hunter2',
      });
      const broken = findings.filter(({ state }) => state === 'broken');
      expect([code, broken.map(({ check }) => check).sort()]).toEqual([
        1,
        ['database', 'email provider', 'instance', 'messaging service', 'sms provider', 'temporal'],
      ]);
      for (const { wayOut } of broken) expect(wayOut).toMatch(/\.$/);
      expect(of('database')[0]?.found).toContain('ECONNREFUSED');
      expect(JSON.stringify(findings)).not.toContain('hunter2');
      const wrong = await doctor({ FANFARE_HTTP_PORT: 'x' });
      expect(wrong.findings).toMatchObject([{ check: 'configuration', state: 'broken' }]);
      const misspelt = await doctor({ FANFARE_EMAIL_PROVIDR: 'smtp' });
      expect(misspelt.of('configuration')).toEqual([
        expect.objectContaining({ state: 'note', found: expect.stringContaining('FANFARE_EMAIL_PROVIDR') }),
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'a certificate for inbound mail is told by its end, and one that nobody can use is broken',
    async () => {
      const [good, ended] = [makeCertificate(), makeCertificate(undefined, { ended: true })];
      const inboundMail = async (certFile: string, keyFile: string) =>
        (
          await doctor({
            FANFARE_EMAIL_PROVIDER: 'smtp',
            FANFARE_SMTP_URL: 'smtp://127.0.0.1:1',
            FANFARE_SMTP_RETURN_PATH: 'bounces.example.org',
            FANFARE_SMTP_LISTEN: '127.0.0.1:0',
            FANFARE_SMTP_LISTEN_TLS_CERT_FILE: certFile,
            FANFARE_SMTP_LISTEN_TLS_KEY_FILE: keyFile,
          })
        ).of('inbound mail');
      try {
        expect(await inboundMail(good.certFile, good.keyFile)).toMatchObject([
          { state: 'ok', found: expect.stringMatching(/^the certificate is valid until \d{4}-/) },
        ]);
        const told = [
          [await inboundMail(ended.certFile, ended.keyFile), 'the certificate has expired on 2020-02-01'],
          [await inboundMail(good.certFile, ended.keyFile), 'is not the key'],
          [await inboundMail(join(directory, 'no.pem'), good.keyFile), 'cannot be read: ENOENT'],
        ] as const;
        for (const [findings, reason] of told) {
          const found = expect.stringContaining(reason);
          expect(findings).toMatchObject([{ state: 'broken', found, wayOut: expect.stringMatching(/\.$/) }]);
        }
      } finally {
        good.remove();
        ended.remove();
      }
    },
    TIMEOUT_MS,
  );

  test(
    'a certificate for https is told by the days that are left, and one for another host is broken',
    async () => {
      const [good, ended] = [
        makeCertificate('DNS:fanfare.example.com'),
        makeCertificate(undefined, { ended: true }),
      ];
      const https = async (certFile: string, keyFile: string, publicUrl = 'https://fanfare.example.com') =>
        (
          await doctor({
            ...{ FANFARE_TLS_CERT: certFile, FANFARE_TLS_KEY: keyFile, FANFARE_PUBLIC_URL: publicUrl },
          })
        ).of('https');
      try {
        expect(await https(good.certFile, good.keyFile)).toMatchObject([
          {
            state: 'ok',
            found: expect.stringMatching(/^the certificate is valid until \d{4}-.*, for (59|60) more days$/),
          },
        ]);
        const told = [
          [await https(good.certFile, good.keyFile, 'https://other.example'), 'is not for other.example'],
          [await https(ended.certFile, ended.keyFile), 'the certificate has expired on 2020-02-01'],
          [await https(good.certFile, ended.keyFile), 'is not the key'],
          [await https(good.certFile, join(directory, 'no.pem')), 'cannot be read: ENOENT'],
        ] as const;
        for (const [findings, reason] of told) {
          const found = expect.stringContaining(reason);
          expect(findings).toMatchObject([{ state: 'broken', found, wayOut: expect.stringMatching(/\.$/) }]);
        }
      } finally {
        good.remove();
        ended.remove();
      }
    },
    TIMEOUT_MS,
  );

  test(
    'a database is looked at and not changed',
    async () => {
      const { databaseUrl } = await database.place();
      const env = { DATABASE_URL: databaseUrl };
      const first = (await doctor(env)).of('database');
      expect(first[0]).toMatchObject({
        state: 'note',
        found: expect.stringMatching(/^PostgreSQL .+ to be run$/),
      });
      // The tests' own server forgets for the sake of speed.
      for (const { found } of first.slice(1)) expect(found).toContain('synchronous_commit is off');
      expect((await doctor(env)).of('database')).toEqual(first);
      const only = `?options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
      const found = 'it takes no changes: default_transaction_read_only is on';
      expect((await doctor({ DATABASE_URL: databaseUrl + only })).of('database')).toContainEqual(
        expect.objectContaining({ state: 'broken', found, wayOut: expect.stringContaining('the primary') }),
      );
    },
    TIMEOUT_MS,
  );

  test(
    'a key that sealed secrets need and the shell lacks is named, and one that is no key',
    async () => {
      const { databaseUrl } = await database.place({ migrated: true });
      const env = { DATABASE_URL: databaseUrl };
      const [key, another] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];
      const storage = await openStorage({ databaseUrl });
      const config = readConfig({ FANFARE_SECRETS_KEY: key, FANFARE_DATA_DIR: directory });
      const secrets = await openSecretsModule(config, storage.tables(), createLog('silent'));
      await secrets.ofInstallation('unsubscribe');
      const sealed = async (more: Record<string, string>) =>
        (await doctor({ ...env, ...more })).of('secrets');
      expect(await sealed({ FANFARE_SECRETS_KEY: key })).toMatchObject([{ state: 'ok' }]);
      expect(await sealed({ FANFARE_SECRETS_KEY: `${another},${key}` })).toMatchObject([{ state: 'ok' }]);
      expect(await sealed({})).toEqual([
        {
          ...{ check: 'secrets', state: 'broken' },
          found: expect.stringMatching(/key [\da-f]{12}, and FANFARE_SECRETS_KEY is not set$/),
          wayOut: expect.stringMatching(/^Set it to that key; /),
        },
      ]);
      expect(await sealed({ FANFARE_SECRETS_KEY: another })).toMatchObject([
        { state: 'broken', found: expect.stringContaining('is not in FANFARE_SECRETS_KEY (it has ') },
      ]);
      const short = await doctor({ ...env, FANFARE_SECRETS_KEY: key.slice(1) });
      expect([short.code, short.findings]).toMatchObject([
        1,
        [{ state: 'broken', found: expect.stringContaining('FANFARE_SECRETS_KEY') }],
      ]);
      await storage.close();
    },
    TIMEOUT_MS,
  );

  describe('beside an instance', () => {
    let storage: Storage;
    let api: WholeApi;
    let home: string;
    let telnyx: FakeJsonCarrier;
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'fanfare-doctor-'));
      storage = await database.open();
      api = await startWholeApi(storage, { check: checkAccount });
      telnyx = await startFakeTelnyx();
    });
    afterAll(async () => {
      await api.stop();
      await telnyx.close();
      rmSync(home, { recursive: true, force: true });
    });

    test(
      'its credentials are tried, and who may read them is looked at',
      async () => {
        const made = { ...(await newWorkspace(api.identity)), baseUrl: api.url };
        await writeCredentials(directory, made);
        const well = await doctor();
        expect([well.code, well.of('instance'), well.of('messaging service')]).toMatchObject([
          0,
          [{ state: 'ok' }],
          [{ state: 'ok', found: expect.stringContaining('gives tokens') }],
        ]);
        await writeCredentials(directory, { ...made, apiKey: 'ffk_wrong' });
        chmodSync(join(directory, 'credentials.json'), 0o644);
        const ill = await doctor();
        expect([ill.code, ill.of('credentials'), ill.of('messaging service').at(-1)]).toMatchObject([
          1,
          [{ state: 'broken', wayOut: expect.stringMatching(/^chmod 600 /) }],
          { state: 'broken', found: expect.stringContaining('answers 401') },
        ]);
        await writeCredentials(directory, { ...made, client: { ...made.client, secret: 'wrong' } });
        expect((await doctor()).of('messaging service')).toMatchObject([
          { state: 'broken', wayOut: expect.stringContaining('write the new one into credentials.json') },
        ]);
      },
      TIMEOUT_MS,
    );

    test(
      'accounts made by the API are checked by it, with what keeps them from being used',
      async () => {
        const workspace = await newWorkspace(api.identity);
        const by = { workspaceId: workspace.workspace.id, role: 'owner' as const };
        const email = 'owner@doctor.example';
        const { user, password } = await api.identity.users.create(by, { email, role: 'owner' });
        const made = { ...workspace, user: { id: user.id, email, password }, baseUrl: api.url };
        await writeCredentials(directory, made);
        const make = async (more: object) =>
          (
            await asUser<{ data: { id: string } }>(
              ...([
                api.url,
                made.user,
                'POST',
                '/api/admin/accounts',
                { channels: ['sms'], ...more },
              ] as const),
            )
          ).data.id;
        const away = await make({
          kind: 'http',
          name: 'Away',
          settings: { url: 'http://127.0.0.1:1/?k=hunter2' },
        });
        const { settings, secrets } = telnyx;
        const known = await make({ kind: 'telnyx', name: 'Known', settings, secrets });
        const wrong = await make({
          kind: 'telnyx',
          name: 'Wrong',
          settings,
          secrets: { apiKey: 'KEYhunter2' },
        });
        const off = await make({ kind: 'telnyx', name: 'Off', settings, secrets, disabled: true });
        const { code, of, findings } = await doctor();
        expect(code).toBe(1);
        const stated = (id: string) => of(`account ${id}`).map(({ state, found }) => `${state} ${found}`);
        expect(stated(away)).toEqual([
          expect.stringMatching(/^broken Away \(http\): 127\.0\.0\.1:1: ECONNREFUSED/),
        ]);
        expect(stated(wrong)).toEqual([expect.stringMatching(/^broken Wrong \(telnyx\): 401 10009/)]);
        expect(stated(known)).toEqual([
          expect.stringMatching(/^note Known .*no route names it.*FANFARE_PUBLIC_URL/),
        ]);
        expect(stated(off)).toEqual([]);
        expect(JSON.stringify(findings)).not.toContain('hunter2');

        const route = { channel: 'sms', accounts: [{ account: known }] };
        await asUser(...([api.url, made.user, 'PUT', '/api/admin/routes', { routes: [route] }] as const));
        const publicUrl = { FANFARE_PUBLIC_URL: 'https://fanfare.example' };
        expect((await doctor(publicUrl)).of(`account ${known}`)[0]?.found).toMatch(
          /; Without a messaging profile/,
        );
        await writeCredentials(directory, { ...made, user: { ...made.user, password: 'another' } });
        expect((await doctor()).of('accounts')).toMatchObject([
          { state: 'note', wayOut: expect.any(String) },
        ]);
      },
      TIMEOUT_MS,
    );
  });
});
