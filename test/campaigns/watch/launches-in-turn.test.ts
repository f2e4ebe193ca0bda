/** Proves that a workspace that asks for thousands of durable sends or campaigns leaves room for those of others. */

import { type Kysely, sql } from 'kysely';
import type { RunLaunch, RunLauncher, SendLaunch } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { launchInTurn } from '../../../src/campaigns/watch/launch-in-turn';
import { overdueSends } from '../../../src/campaigns/watch/run-reconciler';
import { LIMITS } from '../../../src/domain/limits';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

const EACH = LIMITS.durableSendsLaunchedEach;
const LIMIT_MS = 10_000;

describeWithDatabase('durable sends that are launched in turn', (database) => {
  let db: Kysely<CampaignTables>;
  let launched: string[];
  let launches: ReturnType<typeof launcherOf>;
  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
    launched = [];
    launches = launcherOf(async ({ sendId }) => void launched.push(sendId));
  });
  afterEach(() => launches.stop());

  const launcherOf = (launchSend: (send: SendLaunch) => Promise<void>) =>
    launchInTurn(
      db,
      { launchSend, launch: async () => undefined, wakeShards: async () => undefined },
      createLog('silent'),
    );

  /** Rows of sends that no workflow has started. */
  async function made(workspaceId: string, count: number, dueSeconds = 0): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId('snd'));
    await sql`
      insert into durable_sends (id, workspace_id, uid, channel, content, due_at)
      select id, ${workspaceId}, id, 'sms', '{"to": "+12025550190"}', now() + make_interval(secs => ${dueSeconds})
      from unnest(${ids}::text[]) as t(id)`.execute(db);
    return ids;
  }

  async function launch(workspaceId: string, ids: readonly string[], startAt = new Date()): Promise<void> {
    for (const sendId of ids) await launches.launchSend({ workspaceId, sendId, startAt });
  }

  const start = (ids: readonly string[]) =>
    sql`update durable_sends set started_at = now() where id = any(${ids}::text[])`.execute(db);

  const launchedOf = (ids: readonly string[]) => launched.filter((id) => ids.includes(id));

  test('go to Temporal as earlier ones of their workspace are started, in their order and once', async () => {
    const ids = await made('ws_a', 3 * EACH);
    await launch('ws_a', ids);
    await launch('ws_a', ids);
    await new Promise((done) => setTimeout(done, 300));
    expect(launched).toEqual(ids.slice(0, EACH));
    await start(ids.slice(0, EACH - 5));
    await until('as many more', () => launched.length >= 2 * EACH - 5, LIMIT_MS, 20);
    await start(ids);
    await until('all', () => launched.length >= ids.length, LIMIT_MS, 20);
    expect([...launched].sort()).toEqual([...ids].sort());
  });

  test('do not wait for those of another workspace', async () => {
    const many = await made('ws_a', 5 * EACH);
    await launch('ws_a', many);
    const [one = ''] = await made('ws_b', 1);
    await launch('ws_b', [one]);
    expect(launched).toContain(one);
    expect(launchedOf(many)).toHaveLength(EACH);
  });

  test('have their turns, one workspace after the other, when the process has room for few', async () => {
    const full = LIMITS.durableSendsLaunched / EACH;
    const filling = await Promise.all(
      Array.from({ length: full }, async (_, i) => {
        const ids = await made(`ws_${i}`, EACH);
        await launch(`ws_${i}`, ids);
        return ids;
      }),
    );
    expect(launched).toHaveLength(LIMITS.durableSendsLaunched);
    const many = await made('ws_many', 2 * EACH);
    const few = await made('ws_few', 2);
    await launch('ws_many', many);
    await launch('ws_few', few);
    await new Promise((done) => setTimeout(done, 200));
    expect(launched).toHaveLength(LIMITS.durableSendsLaunched);
    await start(filling.flat().slice(0, 4));
    await until('four more', () => launched.length >= LIMITS.durableSendsLaunched + 4, LIMIT_MS, 20);
    expect(launchedOf(few)).toEqual(few);
    expect(launchedOf(many)).toEqual(many.slice(0, 2));
  });

  test('that nothing starts leave their place after a while', async () => {
    const ids = await made('ws_a', EACH + 1);
    await launch('ws_a', ids);
    await until('the last one', () => launched.length > EACH, LIMITS.launchedMs + LIMIT_MS, 50);
  });

  test('that Temporal does not take leave their places, and are found by the look for lost ones', async () => {
    let isDown = true;
    const failing = launcherOf(async ({ sendId }) => {
      if (isDown) throw new Error('no connection');
      launched.push(sendId);
    });
    const ids = await made('ws_a', 2 * EACH, -60);
    const give = (sendId: string) => failing.launchSend({ workspaceId: 'ws_a', sendId, startAt: new Date() });
    for (const id of ids) await expect(give(id)).rejects.toThrow('no connection');
    isDown = false;
    for (const { sendId } of await overdueSends(db)) await give(sendId);
    expect(launched).toEqual(ids.slice(0, EACH));
    failing.stop();
  });

  test('for later are given to Temporal at once', async () => {
    const ids = await made('ws_a', 2 * EACH, 3_600);
    await launch('ws_a', ids, new Date(Date.now() + 3_600_000));
    expect(launched).toEqual(ids);
  });

  test('that were lost are found in turn by workspace', async () => {
    await made('ws_a', 5, -120);
    await made('ws_b', 2, -60);
    const found = (await overdueSends(db)).map(({ workspaceId }) => workspaceId);
    expect(found.slice(0, 4).sort()).toEqual(['ws_a', 'ws_a', 'ws_b', 'ws_b']);
    expect(found).toHaveLength(7);
    // A process that has just started looks without delay, because a killed one may have left them.
    await made('ws_c', 1, -5);
    expect(await overdueSends(db)).toHaveLength(7);
    expect(await overdueSends(db, 0)).toHaveLength(8);
  });
});

describeWithDatabase('runs that are launched in turn', (database) => {
  const PLACES = LIMITS.runsLaunchedEach;
  let db: Kysely<CampaignTables>;
  let launched: string[];
  let launcher: Pick<RunLauncher, 'launch'> & { stop(): void };
  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
    launched = [];
    const launch = async ({ runId, launch }: RunLaunch) => void launched.push(`${runId} ${launch}`);
    launcher = launchInTurn(
      db,
      { launch, launchSend: async () => undefined, wakeShards: async () => undefined },
      createLog('silent'),
    );
  });
  afterEach(() => launcher.stop());

  /** Rows of runs whose audience is not frozen. */
  async function made(workspaceId: string, count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId('run'));
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id)
      select id, ${workspaceId}, 'cmp_' || id, 1, 'planning', id from unnest(${ids}::text[]) as t(id)`.execute(
      db,
    );
    return ids;
  }

  async function launch(workspaceId: string, ids: readonly string[], number = 1): Promise<void> {
    for (const runId of ids)
      await launcher.launch({ workspaceId, runId, campaignId: `cmp_${runId}`, launch: number });
  }

  test('go to Temporal as earlier ones of their workspace are planned, or open a page', async () => {
    const ids = await made('ws_a', 2 * PLACES);
    await launch('ws_a', ids);
    await new Promise((done) => setTimeout(done, 300));
    expect(launched).toEqual(ids.slice(0, PLACES).map((id) => `${id} 1`));
    await sql`update runs set phase = 'running' where id = ${ids[0]}`.execute(db);
    await sql`
      insert into pages (run_id, channel, shard, page, lane, fence, from_seq, to_seq)
      values (${ids[1]}, 'sms', 0, 0, 0, 1, 0, 10)`.execute(db);
    await until('two more', () => launched.length === PLACES + 2, LIMIT_MS, 20);
    await new Promise((done) => setTimeout(done, 200));
    expect(launched).toEqual(ids.slice(0, PLACES + 2).map((id) => `${id} 1`));
  });

  test('do not wait for those of another workspace', async () => {
    await launch('ws_a', await made('ws_a', 4 * PLACES));
    const [one = ''] = await made('ws_b', 1);
    await launch('ws_b', [one]);
    expect(launched.slice(PLACES)).toEqual([`${one} 1`]);
  });

  test('are launched anew when they are started once more', async () => {
    const [one = ''] = await made('ws_a', 1);
    await launch('ws_a', [one]);
    await launch('ws_a', [one]);
    await launch('ws_a', [one], 2);
    expect(launched).toEqual([`${one} 1`, `${one} 2`]);
  });

  test('are launched once more after a while, because their workflow may have been ended from outside', async () => {
    const [one = ''] = await made('ws_a', 1);
    await launch('ws_a', [one]);
    await sql`update runs set phase = 'running' where id = ${one}`.execute(db);
    await new Promise((done) => setTimeout(done, LIMITS.launchedMs + 100));
    await launch('ws_a', [one]);
    expect(launched).toEqual([`${one} 1`, `${one} 1`]);
  });
});
