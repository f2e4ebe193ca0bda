import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { abortIfTooManyFail } from '../../../src/campaigns/outcomes/abort-watch';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { controlLiveRuns } from '../../../src/campaigns/runs/run-rows';
import type { ReleaseOptions } from '../../../src/domain/release';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

const STAGES = [{ recipients: 3, waitSeconds: 60 }, { recipients: 5 }];
const GATE = { metric: 'failed' as const, above: 0.4, minSample: 3 };

describeWithDatabase('a gate of one occurrence', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** Another occurrence of its campaign goes on beside it. */
  async function plant(release: ReleaseOptions) {
    const options = { schedule: { cron: '0 9 * * *', recipientLocal: true } };
    const run = await StagedRun.plant(db, release, { options });
    const beside = `${run.runId}-2`;
    await sql`
      insert into runs (id, workflow_id, workspace_id, campaign_id, number, phase, control)
      select ${beside}, ${beside}, workspace_id, campaign_id, number + 1, 'running', 'run' from runs
      where id = ${run.runId}`.execute(db);
    return { run, beside };
  }

  test.each([
    ['pause', 'a look'],
    ['cancel', 'a look'],
    ['pause', 'an outcome'],
    ['cancel', 'an outcome'],
  ] as const)(
    'with %s, closed by %s, pauses one that goes on beside it only where it pauses its own',
    async (onGate, by) => {
      const { run, beside } = await plant({ stages: STAGES, gates: [GATE], onGate });
      const { campaignId } = run.planted;
      await run.step();
      await run.send('sms', 'failed');
      if (by === 'a look') expect((await run.step()).isClosed).toBe(true);
      else await abortIfTooManyFail(db, run.runId, true);
      expect(await run.stage()).toMatchObject({ stage: 1, closed: true });
      const other = db.selectFrom('runs').select(['control', 'own_reason']).where('id', '=', beside);
      // The service holds by campaign: the other's messages would wait there without a word, and release these.
      expect(await other.executeTakeFirstOrThrow()).toMatchObject(
        onGate === 'pause'
          ? { control: 'pause', own_reason: { code: 'gate', metric: 'failed' } }
          : { control: 'run', own_reason: null },
      );
      const looks = db.selectFrom('run_looks').select('run_id').where('run_id', '=', beside);
      expect((await looks.execute()).length > 0).toBe(onGate === 'pause');
      await db.transaction().execute((tx) => controlLiveRuns(tx, campaignId, 'run', ['pause']));
      expect(await other.executeTakeFirstOrThrow()).toMatchObject({ control: 'run', own_reason: null });
    },
  );

  test.each(['a look', 'an outcome'])(
    'is not closed by %s once its run is completed, because no stage is being sent',
    async (by) => {
      const { run, beside } = await plant({ stages: [{ percent: 100 }], gates: [GATE] });
      await run.step();
      // The last is handed over between the look at the stage and the one whether all are settled.
      await run.send('sms', 'sent');
      expect(await closeRun(db, run.runId, 'completed', undefined)).toBe(true);
      await sql`update recipients set state = 'failed' where run_id = ${run.runId}`.execute(db);
      await sql`update shard_counts set state = 'failed' where run_id = ${run.runId} and state = 'sent'`.execute(
        db,
      );
      if (by === 'a look') expect(await run.step()).toEqual({ shards: [] });
      else await abortIfTooManyFail(db, run.runId, true);
      expect(await run.stage()).toMatchObject({ stage: 1, closed: false });
      const { rows } = await sql`
        select control, own_reason from runs where id in (${run.runId}, ${beside}) order by number`.execute(
        db,
      );
      expect(rows).toEqual(Array(2).fill({ control: 'run', own_reason: null }));
    },
  );
});
