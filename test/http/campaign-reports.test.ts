/** Proves the file of a campaign’s recipients. */

import { type Kysely, sql } from 'kysely';
import { request } from 'undici';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { type Campaigns, createCampaigns } from '../../src/campaigns/campaigns';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRecipientRoutes } from '../../src/http/campaign-recipients';
import { campaignReportRoutes } from '../../src/http/campaign-reports';
import { campaignRunRoutes } from '../../src/http/campaign-runs';
import { campaignRoutes } from '../../src/http/campaigns';
import { createLog } from '../../src/log';
import { plantRun } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { startServer, type TestServer } from './campaigns-server';

const HEADER = 'contactId,channel,address,state,outcome,code,attempts,uid,updatedAt';

describeWithDatabase('the recipients of a campaign as CSV', (database) => {
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  let pagesRead: number;
  let readings: { over: boolean }[];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    const campaigns = createCampaigns({
      db,
      templates: { find: async () => undefined },
      launcher: { launch: async () => undefined, controlChanged: async () => undefined },
      log: createLog('silent'),
    });
    server = await startServer(db, [
      (scope) => campaignRoutes(scope, { campaigns }),
      (scope) => campaignControlRoutes(scope, { campaigns }),
      (scope) => campaignRunRoutes(scope, { campaigns }),
      (scope) => campaignRecipientRoutes(scope, { campaigns }),
      (scope) => campaignReportRoutes(scope, { campaigns: watched(campaigns) }),
    ]);
  });
  afterAll(() => server.close());
  beforeEach(() => {
    pagesRead = 0;
    readings = [];
  });

  /** Tells how much is read, and whether reading has come to an end. */
  function watched(campaigns: Campaigns): Pick<Campaigns, 'recipientPages' | 'outcomes' | 'timeline'> {
    return {
      outcomes: campaigns.outcomes,
      timeline: campaigns.timeline,
      async recipientPages(...args) {
        const pages = await campaigns.recipientPages(...args);
        const reading = { over: false };
        readings.push(reading);
        return (async function* () {
          try {
            for await (const page of pages) {
              pagesRead++;
              yield page;
            }
          } finally {
            reading.over = true;
          }
        })();
      },
    };
  }

  async function frozen(contacts: number) {
    const planted = await plantRun(db, { contacts, workspaceId: 'ws_a' });
    await freezeAudience(db, {
      runId: planted.runId,
      workspaceId: planted.workspaceId,
      channel: planted.channel,
      contactListIds: [planted.listId],
      placeholders: [],
      campaignParams: {},
    });
    return planted;
  }
  const download = (path: string, as = 'ws_a', signal?: AbortSignal) =>
    request(server.url + path, { headers: { authorization: `Bearer ${as}` }, signal: signal ?? null });
  const linesOf = async (path: string) => (await (await download(path)).body.text()).split('\r\n');

  test('has the columns of the contract, and every recipient as the page shows it', async () => {
    const { campaignId } = await frozen(3);
    const path = `/api/campaign/${campaignId}/recipients`;
    const { headers, statusCode } = await download(`${path}.csv`);
    expect([statusCode, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      `attachment; filename="recipients-${campaignId}.csv"`,
    ]);
    const { data } = (await server.call('GET', path)).body;
    expect(data).toHaveLength(3);
    const rows = data.map(
      (one: Record<string, string>) =>
        `${one.contactId},sms,${one.address},pending,,,0,${one.uid},${one.updatedAt}`,
    );
    expect(await linesOf(`${path}.csv`)).toEqual([HEADER, ...rows, '']);
  });

  test('takes the filters of the page, and refuses values that the page refuses', async () => {
    const { campaignId, runId } = await frozen(4);
    const path = `/api/campaign/${campaignId}/recipients.csv`;
    await sql`update shards set next_seq = 4 where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = 'failed', outcome = 'failed', code = 'provider, "gone"', attempts = 2
      where run_id = ${runId} and seq = 2`.execute(db);
    await sql`insert into shard_counts values (${runId}, 'sms', 0, 'failed', 1)`.execute(db);
    const failed = await linesOf(`${path}?channel=sms&state=failed`);
    expect(failed).toEqual([HEADER, expect.stringContaining(',failed,failed,"provider, ""gone""",2,'), '']);
    expect(await linesOf(`${path}?channel=email`)).toEqual([HEADER, '']);
    expect(await linesOf(`${path}?state=`)).toHaveLength(6);
    expect((await server.call('GET', `${path}?state=lost`)).body.errors).toMatchObject([{ path: 'state' }]);
  });

  test('a value that a spreadsheet would take for a formula stands as it is', async () => {
    const { campaignId, runId } = await frozen(1);
    await sql`update recipients set address = '=1+1@example.com' where run_id = ${runId}`.execute(db);
    const [, row] = await linesOf(`/api/campaign/${campaignId}/recipients.csv`);
    expect(row).toContain(',=1+1@example.com,');
  });

  test('a campaign that has not been started has no recipients, and one of another workspace is not found', async () => {
    const { campaignId } = await plantRun(db, { contacts: 1, workspaceId: 'ws_a' });
    await sql`update campaigns set stage = 'draft', current_run = null where id = ${campaignId}`.execute(db);
    const path = `/api/campaign/${campaignId}/recipients.csv`;
    expect(await linesOf(path)).toEqual([HEADER, '']);
    expect((await download(path, 'ws_b')).statusCode).toBe(404);
    expect((await download('/api/campaign/cmp_none/recipients.csv')).statusCode).toBe(404);
  });

  test('many are written in flat memory, and a reader that hangs up ends the reading', async () => {
    const contacts = 30_000;
    const { campaignId } = await frozen(contacts);
    const path = `/api/campaign/${campaignId}/recipients.csv`;
    const before = process.memoryUsage().heapUsed;
    let lines = 0;
    let heldMax = 0;
    for await (const chunk of (await download(path)).body) {
      lines += String(chunk).split('\r\n').length - 1;
      heldMax = Math.max(heldMax, process.memoryUsage().heapUsed - before);
    }
    expect(lines).toBe(contacts + 1);
    expect(pagesRead).toBe(contacts / 1_000);
    expect(heldMax).toBeLessThan(60_000_000);

    pagesRead = 0;
    const leaving = new AbortController();
    const { body } = await download(path, 'ws_a', leaving.signal);
    body.once('error', () => undefined);
    await until('the first page is there', () => pagesRead > 0);
    leaving.abort();
    await until('nobody reads on', () => readings.at(-1)?.over);
    expect(pagesRead).toBeLessThan(contacts / 1_000);
  });
});
