/** Proves that a waiting run is woken by the changes that concern it, and by no others. */

import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { failRun } from '../../../src/campaigns/runs/fail-run';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { moveRun, noteControlApplied, readWantedControl } from '../../../src/campaigns/runs/runs';
import { readLooks } from '../../../src/campaigns/watch/run-facts';
import { startWatcher, type Watcher } from '../../../src/campaigns/watch/watcher';
import { createLog } from '../../../src/log';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

const NOTHING = { handled: [], later: [] };

describeWithDatabase('the watcher', (database) => {
  let db: Kysely<CampaignTables>;
  let watchers: Watcher[];
  let woken: string[];
  /** As long as it is set, Temporal is away. */
  let isAway: boolean;

  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
    [watchers, woken, isAway] = [[], [], false];
  });

  afterEach(async () => {
    for (const watcher of watchers) await watcher.stop();
  });

  function start(name = ''): Watcher {
    const watcher = startWatcher(db, {
      waker: {
        wakeRun: async ({ runId }) => {
          if (isAway) throw new Error('no connection');
          woken.push(`${name}${runId}`);
        },
      },
      source: { feedOf: async () => ({ readEvents: async (next) => ({ events: [], next }) }) },
      feeds: { tick: async () => undefined, stop: async () => undefined },
      stops: { tick: async () => undefined, stop: async () => undefined },
      log: createLog('silent'),
    });
    watchers.push(watcher);
    return watcher;
  }

  /** A run of which everybody has been sent to, and whose outcomes are awaited. */
  async function waitingRun(contacts = 2): Promise<string> {
    const { runId } = await plantAudience(db, { contacts });
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await moveRun(db, runId, 'finishing');
    return runId;
  }

  const count = (runId: string, state: string, n: number) =>
    sql`
    insert into shard_counts (run_id, channel, shard, state, count) values (${runId}, 'sms', 0, ${state}, ${n})
    on conflict (run_id, channel, shard, state) do update set count = shard_counts.count + excluded.count`.execute(
      db,
    );

  /** Without asking for the watch, which would take it. */
  const isWatched = async () => (await db.selectFrom('watches').selectAll().execute()).length > 0;
  const looks = async () => (await db.selectFrom('run_looks').selectAll().execute()).length;
  /** All that happened so far has been looked at. */
  const seen = () =>
    until('no looks that are due', async () => {
      const { rows } = await sql`select 1 from run_looks where at <= now()`.execute(db);
      return rows.length === 0;
    });

  test('a run is woken when its last outcome is there, and not before', async () => {
    const runId = await waitingRun(2);
    start();
    await count(runId, 'sent', 1);
    await seen();
    expect(woken).toEqual([]);
    await count(runId, 'sent', 1);
    await until('the run is woken', () => woken.length > 0);
    await seen();
    expect(woken).toEqual([runId]);
  });

  test('a run is woken when it fails, by whatever found that out', async () => {
    const runId = await waitingRun();
    start();
    await failRun(db, runId, 'invalid_client: refused');
    await until('the run is woken', () => woken.includes(runId));
  });

  test('a run is woken for a retry when it is overdue, and looked at until then no more than that', async () => {
    const runId = await waitingRun(2);
    await moveRun(db, runId, 'running');
    await sql`update recipients set state = 'waiting', retry_at = now() + interval '1 hour'
      where run_id = ${runId} and seq = 0`.execute(db);
    await count(runId, 'waiting', 1);
    const watcher = start();
    await seen();
    await watcher.stop();
    expect(woken).toEqual([]);
    const [later] = await db.selectFrom('run_looks').selectAll().execute();
    expect((later?.at.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
    await sql`update recipients set retry_at = now() - interval '1 hour' where run_id = ${runId} and seq = 0`.execute(
      db,
    );
    await sql`update run_looks set at = now()`.execute(db);
    start();
    await until('the run is woken', () => woken.includes(runId));
  });

  test('a run that missed the signal of its control is woken until it has followed it', async () => {
    const { runId, workspaceId, campaignId } = await plantAudience(db, { contacts: 2 });
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await count(runId, 'accepted', 2);
    await moveRun(db, runId, 'running');
    await changeCampaign(db, workspaceId, campaignId, 'pause');
    await changeCampaign(db, workspaceId, campaignId, 'resume');
    start();
    await until('the run is woken', () => woken.length > 0);
    const { change } = await readWantedControl(db, runId);
    expect(change).toBe(2);
    await noteControlApplied(db, runId, change);
    await sql`update run_looks set at = now()`.execute(db);
    await until('no look is left', async () => (await looks()) === 0);
  });

  test('runs that wait cost one statement a second, whatever their number', async () => {
    const runIds: string[] = [];
    for (let i = 0; i < 20; i++) runIds.push(await waitingRun(1));
    let statements = 0;
    const counting = db.withPlugin({
      transformQuery: ({ node }) => {
        statements++;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    for (let second = 0; second < 3; second++) expect(await readLooks(counting, 'one', NOTHING)).toEqual([]);
    expect(statements).toBe(3);
    expect(woken).toEqual([]);
  });

  test('what a process that was killed had not seen to is found by the next one when its watch has run out', async () => {
    const runId = await waitingRun(1);
    await count(runId, 'sent', 1);
    // Reads the look, and dies before the run is woken.
    expect(await readLooks(db, 'killed', NOTHING)).toMatchObject([{ runId }]);
    start();
    expect(await readLooks(db, 'another', NOTHING)).toBeUndefined();
    await sql`update watches set held_until = now()`.execute(db);
    await until('the run is woken', () => woken.includes(runId));
  });

  test('a process that ends gives its watch up at once, and only one watches at a time', async () => {
    const first = start('first ');
    await until('the watch', isWatched);
    start('second ');
    const before = await waitingRun(1);
    await count(before, 'sent', 1);
    await until('the run is woken', () => woken.length > 0);
    const { owner } = await db
      .selectFrom('watches')
      .select('owner')
      .where('name', '=', 'runs')
      .executeTakeFirstOrThrow();
    await first.stop();
    const { rows } = await sql`select from watches where owner = ${owner} and held_until > now()`.execute(db);
    expect(rows).toEqual([]);
    const after = await waitingRun(1);
    await count(after, 'sent', 1);
    await until('the run is woken', () => woken.includes(`second ${after}`));
    expect(woken).toEqual([`first ${before}`, `second ${after}`]);
  });

  test('a wake that Temporal did not take is repeated until it does', async () => {
    const runId = await waitingRun(1);
    isAway = true;
    await count(runId, 'sent', 1);
    start();
    await until('a try', isWatched);
    expect(await looks()).toBe(1);
    isAway = false;
    await until('the run is woken', () => woken.includes(runId));
  });

  test('runs that have ended are not woken', async () => {
    const runId = await waitingRun(1);
    await count(runId, 'sent', 1);
    await closeRun(db, runId, 'completed', undefined);
    start();
    await seen();
    expect(woken).toEqual([]);
  });
});
