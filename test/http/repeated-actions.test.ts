/** Proves that an action repeated under one Idempotency-Key takes effect once. */

import { type Kysely, sql } from 'kysely';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { RunLauncher } from '../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

const IN_A_DAY = () => new Date(Date.now() + 86_400_000).toISOString();

describeWithDatabase('what steers a campaign, repeated under its Idempotency-Key', (database) => {
  let db: Kysely<CampaignTables>;
  let messagingDb: Kysely<MessagingTables>;
  let api: WholeApi;
  let authorization: string;
  let workspaceId: string;
  let content: object;

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    messagingDb = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    const made = await newWorkspace(api.identity);
    workspaceId = made.workspace.id;
    authorization = await bearerFor(api.identity, made);
    const list = (await post('/api/contact-list', { name: 'L' })).body.data.id;
    await post(`/api/contact-list/${list}/contacts`, { contacts: [{ phone: '+12025550111' }] });
    const template = { templateName: 'T', body: 'Hello', channel: 'sms' };
    const templateId = (await post('/api/template', template)).body.template.id;
    content = {
      ...{ name: 'C', channel: ['sms'], contactListId: [list] },
      settings: { sms: { shortCode: '12345', templateId, version: 1 } },
    };
  });
  afterAll(() => api.stop());

  const post = (path: string, body: unknown, key?: string) =>
    api.call('POST', path, {
      body,
      headers: { authorization, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    });
  const act = (id: string, action: string, key?: string, body: unknown = {}) =>
    post(`/api/campaign/${id}/${action}`, body, key);
  const make = async (more: object): Promise<string> =>
    (await post('/api/campaign', { ...content, ...more })).body.data.id;
  const runsOf = async (id: string) =>
    (await db.selectFrom('runs').select(['phase', 'control']).where('campaign_id', '=', id).execute()).map(
      ({ phase, control }) => `${phase} ${control}`,
    );
  /** As if the process had been killed after its work and before it kept the answer, and the claim had run out. */
  const dieUnanswered = () =>
    messagingDb
      .updateTable('idempotency_keys')
      .set({ answer: null, lease_until: new Date(0) })
      .execute();

  test('a campaign that is created once more after its end gets the first answer', async () => {
    const endAt = new Date(Date.now() + 1_500).toISOString().replace(/\d{3}Z$/, '999Z');
    const asked = { ...content, schedule: { endAt: endAt.replace('Z', '+00:00') }, newer: true };
    const first = await post('/api/campaign', asked, 'ends');
    const lost = await post('/api/campaign', asked, 'lost');
    expect([first.status, lost.status]).toEqual([201, 201]);
    await messagingDb
      .updateTable('idempotency_keys')
      .set({ answer: null, lease_until: new Date(0) })
      .where('created_at', '=', (eb) =>
        eb.selectFrom('idempotency_keys').select(eb.fn.max('created_at').as('at')),
      )
      .execute();
    await new Promise((over) => setTimeout(over, Date.parse(endAt) - Date.now() + 50));

    const again = await post('/api/campaign', asked, 'ends');
    expect([again.status, again.headers['idempotent-replay'], again.body]).toEqual([201, 'true', first.body]);
    expect((await post('/api/campaign', asked, 'lost')).body.data.id).toBe(lost.body.data.id);
    const another = await post('/api/campaign', asked, 'another');
    expect([another.status, another.body.errors]).toMatchObject([
      422,
      [{ path: 'schedule.endAt', code: 'never_due' }],
    ]);
  });

  test.each([
    ['a draft with an hour', { startAt: IN_A_DAY() }, ['planning run']],
    ['a recurring draft', { cron: '0 9 * * mon' }, []],
  ])('%s is scheduled by starting it, and not sent by asking again', async (_, schedule, runs) => {
    const id = await make({ schedule, start: false });
    const first = await act(id, 'start', 'k');
    expect(first.body.data.phase).toBe('scheduled');
    const replayed = await act(id, 'start', 'k');
    expect([replayed.headers['idempotent-replay'], replayed.body]).toEqual(['true', first.body]);

    await dieUnanswered();
    expect((await act(id, 'start', 'k')).body.data.phase).toBe('scheduled');
    expect(await runsOf(id)).toEqual(runs);
    expect((await act(id, 'start', 'another')).status).toBe(200);
    expect(await runsOf(id)).toHaveLength(runs.length + 1);
  });

  test('a recurring campaign has one occurrence more by starting it, also when that has ended meanwhile', async () => {
    const id = await make({ schedule: { cron: '0 9 * * mon' } });
    await act(id, 'start', 'k');
    await db.updateTable('runs').set({ phase: 'completed' }).where('campaign_id', '=', id).execute();
    await dieUnanswered();
    expect((await act(id, 'start', 'k')).status).toBe(200);
    expect(await runsOf(id)).toEqual(['completed run']);
  });

  test('what became of the campaign since is left as it is', async () => {
    const id = await make({ schedule: { startAt: IN_A_DAY() } });
    await act(id, 'pause', 'p');
    await act(id, 'resume', 'r');
    await dieUnanswered();
    expect((await act(id, 'pause', 'p')).body.data.phase).toBe('scheduled');
    await act(id, 'cancel', 'c');
    await dieUnanswered();
    expect((await act(id, 'resume', 'r')).body.data.phase).toBe('canceled');
  });

  test('what was refused takes no note: the same key may do it later', async () => {
    const id = await make({ start: false });
    expect((await act(id, 'pause', 'k')).status).toBe(409);
    await act(id, 'start');
    expect((await act(id, 'pause', 'k')).body.data.phase).toBe('paused');
  });

  test('who failed since retry-failed was called is not put back by its repetition, and the rest are', async () => {
    const { runId } = await plantAudience(db, { contacts: 3, workspaceId });
    const fail = (seq: number, attempt: number, ago: string) =>
      sql`update recipients set state = 'failed', attempt = ${attempt}, updated_at = now() - ${ago}::interval
        where run_id = ${runId} and seq = ${seq}`.execute(db);
    await fail(0, 0, '1 hour');
    await fail(1, 0, '1 hour');
    const run = await db
      .updateTable('runs')
      .set({ phase: 'running' })
      .where('id', '=', runId)
      .returning('campaign_id')
      .executeTakeFirstOrThrow();
    const again = async () => (await act(run.campaign_id, 'retry-failed', 'k')).body.data.retried;
    expect(await again()).toEqual({ sms: 2 });
    expect(await again()).toEqual({ sms: 2 });

    // The first attempt came as far as the first recipient, who has failed anew.
    await dieUnanswered();
    await fail(0, 1, '0');
    await fail(1, 0, '1 hour');
    expect(await again()).toEqual({ sms: 1 });
    const { rows } =
      await sql`select state, attempt from recipients where run_id = ${runId} order by seq`.execute(db);
    expect(rows.slice(0, 2)).toEqual([
      { state: 'failed', attempt: 1 },
      { state: 'waiting', attempt: 1 },
    ]);
    expect((await act(run.campaign_id, 'retry-failed', 'another')).body.data.retried).toEqual({ sms: 1 });
  });

  test('an attempt after one that died signals the workflows again', async () => {
    const launched: Parameters<RunLauncher['launch']>[0][] = [];
    const told: string[] = [];
    const campaigns = createCampaigns({
      db,
      templates: { find: async () => undefined },
      launcher: {
        launch: async (run) => void launched.push(run),
        controlChanged: async ({ runId }) => void told.push(runId),
      },
      log: createLog('silent'),
    });
    const done = sql<{ attempt: number; since: string }>`select 2 as attempt, now()::text as since`;
    const id = await make({ schedule: { startAt: IN_A_DAY() } });
    const { runId } = (await api.call('GET', `/api/campaign/${id}`, { headers: { authorization } })).body
      .data;
    await campaigns.act(workspaceId, id, 'start', done);
    expect([launched.map((run) => run.runId), told]).toEqual([[runId], []]);
    expect(launched[0]?.startAt).toBeInstanceOf(Date);

    const going = await make({});
    await act(going, 'pause');
    await campaigns.act(workspaceId, going, 'pause', done);
    expect(launched).toHaveLength(2);
    expect(told).toEqual([launched[1]?.runId]);
  });
});
