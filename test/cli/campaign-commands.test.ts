/** Proves the campaign commands against a running instance. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { createCampaigns } from '../../src/campaigns/campaigns';
import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { writeCredentials } from '../../src/credentials/credentials';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRecipientRoutes } from '../../src/http/campaign-recipients';
import { campaignReportRoutes } from '../../src/http/campaign-reports';
import { campaignRunRoutes } from '../../src/http/campaign-runs';
import { campaignRoutes } from '../../src/http/campaigns';
import { contactListRoutes } from '../../src/http/contact-lists';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import type { Storage } from '../../src/storage/storage';
import { startService, type TestService } from '../http/service';
import { plantRun } from '../support/audience';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const TIMEOUT_MS = 150_000;

describeWithDatabase('fanfare campaign and fanfare contacts', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  let service: TestService;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-campaign-'));
    storage = await database.open();
    db = storage.tables<CampaignTables>();
    const campaigns = createCampaigns({
      db,
      templates: {
        find: async (_workspace, _channel, id, version) => ({ name: id, version, placeholders: [] }),
      },
      launcher: { launch: async () => undefined, controlChanged: async () => undefined },
      log: createLog('silent'),
    });
    service = await startService(storage.tables<MessagingTables>(), {
      routes: [
        (scope) => contactListRoutes(scope, { contactLists: createContactLists({ db }) }),
        (scope) => campaignRoutes(scope, { campaigns }),
        (scope) => campaignControlRoutes(scope, { campaigns }),
        (scope) => campaignRunRoutes(scope, { campaigns }),
        (scope) => campaignRecipientRoutes(scope, { campaigns }),
        (scope) => campaignReportRoutes(scope, { campaigns }),
      ],
    });
    await writeCredentials(dataDir, { ...service.workspace, baseUrl: service.url });
  });
  afterAll(async () => {
    await service.app.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = (args: string[], env = {}) => runFanfare(args, { FANFARE_DATA_DIR: dataDir, ...env });
  const fanfare = (args: string[], env = {}) => start(args, env).ended;
  const inDir = (name: string) => join(dataDir, name);

  async function running(contacts = 3) {
    const workspaceId = service.workspace.workspace.id;
    const planted = await plantRun(db, { contacts, workspaceId });
    await freezeAudience(db, {
      runId: planted.runId,
      workspaceId,
      channel: planted.channel,
      contactListIds: [planted.listId],
      placeholders: [],
      campaignParams: {},
    });
    await sql`update runs set phase = 'running' where id = ${planted.runId}`.execute(db);
    return planted;
  }
  const setPhase = (runId: string, phase: string) =>
    sql`update runs set phase = ${phase} where id = ${runId}`.execute(db);

  test(
    'contacts are imported from a file, with progress and the rows that were refused',
    async () => {
      const call = await service.call('POST', '/api/contact-list', {
        body: { name: 'Readers' },
        headers: { authorization: service.bearer },
      });
      const list = call.body.data.id;
      const rows = Array.from({ length: 20_000 }, (_, i) => `r${i},reader${i}@example.com,(202) 555-0100`);
      const text = ['externalId,email,phone', ...rows, 'x,no address,'].join('\n');
      writeFileSync(inDir('readers.csv'), text);
      const args = ['contacts', 'import', list, inDir('readers.csv'), '--country', 'US'];
      const first = await fanfare(args);
      expect(first).toEqual({
        code: 0,
        out: expect.stringMatching(
          /^Readers: 20001 rows, 20000 contacts created, 0 updated, 0 unchanged, 1 rejected\n {2}line 20002: email .+\n$/,
        ),
        err: expect.stringMatching(/^uploading [\d.]+ of 0\.9 MB \(\d+ %\)\n/),
      });
      expect(first.out).not.toContain('no address');
      const again = await fanfare([...args, '--json']);
      expect([again.code, JSON.parse(again.out)]).toEqual([
        0,
        expect.objectContaining({ received: 20_001, created: 0, unchanged: 20_000, rejected: 1 }),
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'campaigns are listed, shown and controlled',
    async () => {
      const { campaignId, listId } = await running();
      await sql`update campaigns set name = ${'A\u001b[2Jname'} where id = ${campaignId}`.execute(db);
      const [listed, asJson, none, status, shown] = await Promise.all([
        fanfare(['campaign', 'list']),
        fanfare(['campaign', 'list', '--channel', 'sms', '--limit', '100', '--json']),
        fanfare(['campaign', 'list', '--search', 'nobody calls it that']),
        fanfare(['campaign', 'status', campaignId]),
        fanfare(['campaign', 'status', campaignId, '--json']),
      ]);
      expect([listed.code, listed.out]).toEqual([0, expect.stringContaining(`${campaignId}  running  `)]);
      expect(listed.out).toContain('A?[2Jname');
      expect(JSON.parse(asJson.out).map(({ id }: { id: string }) => id)).toContain(campaignId);
      expect([none.code, none.out]).toEqual([0, 'There are no such campaigns.\n']);
      expect(status.out).toMatch(
        /^A\?\[2Jname \(cmp_\w+\) is running\n\n +sms\n {2}pending +3\n {2}recipients +3\n$/,
      );
      expect(JSON.parse(shown.out)).toMatchObject({ id: campaignId, contactListId: [listId] });

      expect((await fanfare(['campaign', 'pause', campaignId])).out).toBe(
        `Campaign ${campaignId} is paused.\n`,
      );
      const runs = await fanfare(['campaign', 'runs', campaignId]);
      expect(runs.out).toMatch(/^ {3}1 {2}run_\w+ {2}paused {5}\d{4}-\d\d-\d\dT\d\d:\d\d {2}sms 3\n$/);
      expect(JSON.parse((await fanfare(['campaign', 'runs', campaignId, '--json'])).out)).toHaveLength(1);
      const resumed = await fanfare(['campaign', 'resume', campaignId, '--json']);
      expect(JSON.parse(resumed.out)).toMatchObject({ id: campaignId, phase: 'running' });
      expect((await fanfare(['campaign', 'pace', campaignId, '2.5'])).out).toBe(
        `Campaign ${campaignId} is running, at 2.5 a second.\n`,
      );
      expect((await fanfare(['campaign', 'pace', campaignId, 'off'])).out).toContain('at no limit');
      expect((await fanfare(['campaign', 'pace', campaignId, 'fast'])).code).toBe(2);
      const again = await fanfare(['campaign', 'retry-failed', campaignId, '--state', 'failed', 'unknown']);
      expect(again.out).toBe(`Campaign ${campaignId} is running. Sent to again: sms 0.\n`);
      expect((await fanfare(['campaign', 'retry-failed', campaignId, '--state', 'sent'])).code).toBe(2);
      expect((await fanfare(['campaign', 'release', campaignId, '--stages', 'none'])).code).toBe(2);
      const whole = await fanfare(['campaign', 'release', campaignId, '--stages', 'all']);
      expect([whole.code, whole.err]).toEqual([1, expect.stringContaining('is not released in stages')]);
      expect((await fanfare(['campaign', 'cancel', campaignId])).code).toBe(0);
      const refused = await fanfare(['campaign', 'start', campaignId]);
      expect(refused).toEqual({
        code: 1,
        out: '',
        err: expect.stringMatching(/^fanfare: POST .+ answered 409: .+ is canceled: start is not possible/),
      });
    },
    TIMEOUT_MS,
  );

  test(
    'watching ends with the campaign, and says by its code how',
    async () => {
      const [done, broken, left] = [await running(), await running(), await running()];
      const lines = start(['campaign', 'watch', done.campaignId, '--json']);
      const text = start(['campaign', 'watch', broken.campaignId]);
      const stopped = start(['campaign', 'watch', left.campaignId]);
      for (const one of [lines, text, stopped])
        await until('it is running', () => one.out().includes('running'));
      await setPhase(done.runId, 'completed');
      await sql`update runs set phase = 'failed', reason = 'no credentials' where id = ${broken.runId}`.execute(
        db,
      );
      stopped.child.kill('SIGINT');

      const json = await lines.ended;
      const phases = json.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).phase);
      expect([json.code, phases]).toEqual([0, ['running', 'completed']]);
      expect(await text.ended).toEqual({
        code: 1,
        out: expect.stringMatching(
          /^running \d+ s · sms 0\/3\nfailed \d+ s · sms 0\/3\nno credentials\n\n +sms\n/,
        ),
        err: '',
      });
      expect(await stopped.ended).toMatchObject({ code: 1, err: '' });
    },
    TIMEOUT_MS,
  );

  test(
    'a report prints counts and writes the recipients into a file, which is whole or not there',
    async () => {
      const { campaignId, runId } = await running(2_500);
      await setPhase(runId, 'canceled');
      const csv = inDir('report.csv');
      writeFileSync(csv, 'of yesterday');
      const { code, out } = await fanfare(['campaign', 'report', campaignId, '--csv', csv]);
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/canceled +2500\n.*The recipients are in .+\.csv\.\n$/s),
      ]);
      const served = await service.call('GET', `/api/campaign/${campaignId}/recipients.csv`, {
        headers: { authorization: service.bearer },
      });
      expect(readFileSync(csv, 'utf8')).toBe(served.body);
      expect(served.body.split('\r\n')).toHaveLength(2_502);

      const args = ['campaign', 'report', campaignId, '--csv', csv, '--json'];
      const some = await fanfare([...args, '--state', 'sent', '--channel', 'sms']);
      expect(JSON.parse(some.out)).toMatchObject({
        phase: 'canceled',
        counts: { sms: { total: 2_500 } },
        csv,
      });
      expect(readFileSync(csv, 'utf8').split('\r\n')).toHaveLength(2);

      const nowhere = await fanfare(['campaign', 'report', campaignId, '--csv', inDir('no/such/place.csv')]);
      expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('cannot be written: ENOENT')]);
      const unknown = await fanfare(['campaign', 'report', 'cmp_none', '--csv', inDir('none.csv')]);
      expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('answered 404')]);
      expect(readdirSync(dataDir).filter((name) => /part$|^none/.test(name))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'the environment says where and who, by a client or by a session',
    async () => {
      const { campaignId } = await running();
      const { client, user } = service.workspace;
      const { token } = await service.identity.login({ ...user, address: 'tests' });
      const elsewhere = { FANFARE_DATA_DIR: tmpdir(), FANFARE_APP_URL: `${service.url}/` };
      const args = ['campaign', 'status', campaignId, '--json'];
      const answers = await Promise.all([
        fanfare(args, {
          ...elsewhere,
          FANFARE_AUTH_URL: service.url,
          FANFARE_CLIENT_ID: client.id,
          FANFARE_CLIENT_SECRET: client.secret,
        }),
        fanfare(args, { ...elsewhere, FANFARE_SESSION_COOKIE: token }),
      ]);
      for (const { code, out } of answers) expect([code, JSON.parse(out).id]).toEqual([0, campaignId]);
      const nobody = await fanfare(args, elsewhere);
      expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('FANFARE_CLIENT_ID is not set')]);
    },
    TIMEOUT_MS,
  );

  test(
    'what fails ends with 1, and wrong usage with 2',
    async () => {
      const failed = await Promise.all([
        fanfare(['campaign', 'status', 'cmp_none']),
        fanfare(['contacts', 'import', 'lst_none', __filename]),
        fanfare(['contacts', 'import', 'lst_none', inDir('none.csv')]),
        fanfare(['campaign', 'list'], { FANFARE_APP_URL: 'http://127.0.0.1:1' }),
      ]);
      expect(failed.map(({ code, out }) => [code, out])).toEqual(failed.map(() => [1, '']));
      expect(failed.map(({ err }) => /answered 404|ENOENT|Nothing answers/.exec(err)?.[0])).toEqual([
        'answered 404',
        'answered 404',
        'ENOENT',
        'Nothing answers',
      ]);
      const usage = await Promise.all([
        fanfare(['campaign']),
        fanfare(['campaign', 'status']),
        fanfare(['campaign', 'list', '--channel', 'fax']),
        fanfare(['campaign', 'list', '--limit', '0']),
        fanfare(['contacts', 'import', 'lst_1']),
      ]);
      expect(usage.map(({ code }) => code)).toEqual(usage.map(() => 2));
    },
    TIMEOUT_MS,
  );
});
