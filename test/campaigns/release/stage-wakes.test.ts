import { type Kysely, sql } from 'kysely';
import { storeCallEvents } from '../../../src/campaigns/calls/call-events';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { type RunFacts, readLooks } from '../../../src/campaigns/watch/run-facts';
import { classifyLook } from '../../../src/campaigns/watch/watcher';
import { messageUid } from '../../../src/domain/ids';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('when the run of a release is woken', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(() => sql`delete from run_looks`.execute(db));

  /** What the watcher finds of the run, after something happened to it. */
  async function facts(run: StagedRun): Promise<RunFacts> {
    await sql`insert into run_looks (run_id) values (${run.runId})`.execute(db);
    const found = await readLooks(db, 'wat_test', { handled: [], later: [] });
    return found?.find(({ runId }) => runId === run.runId) as RunFacts;
  }
  const judge = (of: RunFacts, lastWokenMs?: number, tellsMore = true) =>
    classifyLook({ ...of, isControlApplied: true }, { tellsMore, lastWokenMs, nowMs: Date.now() });

  test('when a stage may be sent, and at the end of a wait', async () => {
    const run = await StagedRun.plant(db, { stages: [{ recipients: 3, waitSeconds: 60 }] });
    await run.step();
    expect((await facts(run)).stage).toBeNull();
    await run.send('sms', 'sent', 2);
    expect((await facts(run)).stage).toBeNull();
    await run.send('sms', 'accepted', 1);
    const accepted = await facts(run);
    expect(accepted.stage).toBe('sending');
    expect([judge(accepted).wake, judge(accepted, undefined, false).wake]).toEqual([false, true]);
    await sql`
      with moved as (update recipients set state = 'sent' where run_id = ${run.runId} and state = 'accepted' returning 1)
      update shard_counts set count = case state when 'sent' then 3 else 0 end
      where run_id = ${run.runId} and state in ('sent', 'accepted')`.execute(db);
    const sent = await facts(run);
    expect(judge(sent).wake).toBe(true);
    // Outcomes come one by one, and each may be the last: the run is woken for several together.
    expect(judge(sent, Date.now())).toMatchObject({ wake: false, later: { tries: 0 } });
    await run.step();
    const [later] = await db.selectFrom('run_looks').selectAll().where('at', '>', sql<Date>`now()`).execute();
    expect((later?.at.getTime() ?? 0) - Date.now()).toBeGreaterThan(50_000);
    expect(judge(await facts(run)).wake).toBe(false);
    await run.pass(61);
    const over = await facts(run);
    expect([over.stage, over.hasLaterStage, judge(over).wake]).toEqual(['due', true, true]);
    await run.step();
    expect(await facts(run)).toMatchObject({ stage: null, hasLaterStage: false });
  });

  test('not while its gate is closed', async () => {
    const run = await StagedRun.plant(db, { stages: [{ recipients: 3, waitSeconds: 0 }] });
    await run.step();
    await sql`update run_releases set closed_at = now() where run_id = ${run.runId}`.execute(db);
    expect((await facts(run)).stage).toBeNull();
  });

  test('as a call of the stage is answered, because it rings no more', async () => {
    const run = await StagedRun.plant(db, { stages: [{ recipients: 3 }] }, { channels: ['voice'] });
    await run.step();
    await sql`
      insert into calls (run_id, seq, attempt, data, live) values (${run.runId}, 0, 1, '{}', true)`.execute(
      db,
    );
    const uid = messageUid({ runId: run.runId, channel: 'voice', seq: 0 }, 1);
    const event = { seq: 1, uid, id: 'm', channel: 'voice' as const, state: 'sent' as const };
    const at = new Date().toISOString();
    const { workspaceId } = run.planted;
    const tell = (type: string) =>
      db.transaction().execute((tx) => storeCallEvents(tx, workspaceId, [{ ...event, at, type } as never]));
    await sql`delete from run_looks`.execute(db);
    await tell('ringing');
    expect(await db.selectFrom('run_looks').selectAll().execute()).toEqual([]);
    await tell('answered');
    expect(await db.selectFrom('run_looks').select('run_id').execute()).toEqual([{ run_id: run.runId }]);
  });
});
