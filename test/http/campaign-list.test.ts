/** Proves that campaigns are listed in the form of the specification. */

import { type Kysely, sql } from 'kysely';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { RunLauncher, TemplateLookup } from '../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { campaignRoutes } from '../../src/http/campaigns';
import { createLog } from '../../src/log';
import { describeWithDatabase } from '../support/storage';
import { startServer, type TestServer } from './campaigns-server';

const templates: TemplateLookup = { find: async () => undefined };

describeWithDatabase('the list of campaigns', (database) => {
  let server: TestServer;
  let db: Kysely<CampaignTables>;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    const launcher: RunLauncher = { launch: async () => undefined, controlChanged: async () => undefined };
    const campaigns = createCampaigns({ db, templates, launcher, log: createLog('silent') });
    server = await startServer(db, [(scope) => campaignRoutes(scope, { campaigns })]);
    const rows = [
      ['cmp_1', 'Alpha', '{sms}', '2026-01-31T23:59:59.999Z', 'draft', null],
      ['cmp_2', 'beta 100%', '{sms,email}', '2026-02-01T00:00:00Z', 'started', 'completed'],
      ['cmp_3', 'Gamma', '{sms}', '2026-02-28T23:59:59.999Z', 'started', 'running'],
      ['cmp_4', 'Delta', '{sms}', '2026-03-01T00:00:00Z', 'started', 'failed'],
      ['cmp_5', 'Mail only', '{email}', '2026-03-01T00:00:00Z', 'scheduled', null],
    ];
    for (const [id, name, channels, createdAt, stage, phase] of rows) {
      await sql`insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, stage, current_run, created_at)
        values (${id}, 'ws_a', ${name}, ${channels}, '{}', '{}', ${stage}, ${phase && `run_${id}`}, ${createdAt}::timestamptz)`.execute(
        db,
      );
      if (phase) {
        await sql`insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id)
          values (${`run_${id}`}, 'ws_a', ${id}, 1, ${phase}, 'w')`.execute(db);
      }
    }
  });
  afterAll(() => server.close());

  const list = async (query: string, as?: string) =>
    (await server.call('GET', `/api/campaign?${query}`, undefined, as ? { as } : {})).body;
  const ids = async (query: string) =>
    (await list(`page=1&limit=100&${query}`)).data.map((one: { id: string }) => one.id);

  test('answers in the form of the specification', async () => {
    expect(await list('page=2&limit=3&channel=sms')).toEqual({
      result: 'success',
      status: 200,
      message: expect.any(String),
      data: [
        {
          id: 'cmp_1',
          name: 'Alpha',
          channel: ['sms'],
          status: 'paused',
          phase: 'draft',
          createdAt: '2026-01-31T23:59:59.999Z',
          tags: [],
          archived: false,
        },
      ],
      pagination: { page: 2, limit: 3, total: 4 },
      stopped: null,
    });
    expect((await list('page=1&limit=10&channel=sms', 'ws_b')).pagination.total).toBe(0);
  });

  test.each([
    ['channel=email', ['cmp_5', 'cmp_2']],
    ['channel=all', ['cmp_5', 'cmp_4', 'cmp_3', 'cmp_2', 'cmp_1']],
    ['channel=all&search=TA&direction=asc', ['cmp_2', 'cmp_4']],
    ['channel=sms', ['cmp_4', 'cmp_3', 'cmp_2', 'cmp_1']],
    ['channel=sms&direction=asc', ['cmp_1', 'cmp_2', 'cmp_3', 'cmp_4']],
    ['channel=sms&column=name', ['cmp_1', 'cmp_2', 'cmp_4', 'cmp_3']],
    ['channel=sms&column=status&direction=asc', ['cmp_3', 'cmp_2', 'cmp_4', 'cmp_1']],
    ['channel=sms&search=%25', ['cmp_2']],
    ['channel=sms&search=TA', ['cmp_4', 'cmp_2']],
    ['channel=sms&status=completed', ['cmp_4', 'cmp_2']],
    ['channel=sms&status=active', ['cmp_3']],
    ['channel=sms&status=paused&column=&search=', ['cmp_1']],
    ['channel=sms&dateFrom=02/01/2026&dateTo=02/28/2026', ['cmp_3', 'cmp_2']],
    ['channel=sms&dateFrom=03/01/2026', ['cmp_4']],
    ['channel=sms&dateTo=01/31/2026', ['cmp_1']],
    // February by the clocks of Rome.
    [
      'channel=sms&createdFrom=2026-02-01T00:00:00%2B01:00&createdBefore=2026-02-28T23:00:00Z',
      ['cmp_2', 'cmp_1'],
    ],
    // An unescaped plus arrives as a space.
    ['channel=sms&createdFrom=2026-03-01T01:00:00+01:00', ['cmp_4']],
    ['channel=sms&createdFrom=2026-03-01T00:00:00Z', ['cmp_4']],
    ['channel=sms&createdBefore=2026-02-01T00:00:00Z', ['cmp_1']],
  ])('%s finds %p', async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  test.each([
    ['', ['channel required', 'limit required', 'page required']],
    ['page=0&limit=101&channel=fax', ['channel invalid_value', 'limit too_big', 'page too_small']],
    [
      'page=1&limit=1&channel=sms&column=id&direction=up&status=live',
      ['column invalid_value', 'direction invalid_value', 'status invalid_value'],
    ],
    ['page=1&limit=1&channel=sms&dateFrom=02/30/2026', ['dateFrom invalid_date']],
    ['page=1&limit=1&channel=sms&dateFrom=2026-02-01', ['dateFrom invalid_format']],
    ['page=1&limit=1&channel=sms&createdFrom=2026-02-01', ['createdFrom invalid_format']],
    ['page=1&limit=1&channel=sms&dateFrom=02/02/2026&dateTo=02/01/2026', ['dateTo before_start']],
  ])('%p is refused, naming what is wrong', async (query, expected) => {
    const answer = await list(query);
    expect(answer.status).toBe(422);
    expect(answer.errors.map((error) => `${error.path} ${error.code}`).sort()).toEqual(expected);
  });
});
