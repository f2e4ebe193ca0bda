/** Proves that a release which waits for its next stage ends with its campaign. */
import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { wrongCodeCounts } from '../../support/ledger-states';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('a release', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test.each([
    { stages: [{ recipients: 3 }], what: 'the operator' },
    { stages: [{ recipients: 3, waitSeconds: 86_400 }], what: 'its time' },
  ])('a stage that waits for $what ends with the campaign, and nothing more is sent', async ({ stages }) => {
    const run = await StagedRun.plant(db, { stages, gates: [{ metric: 'failed', above: 0, minSample: 1 }] });
    const endIn = (ms: number) =>
      sql`
      update campaigns set options = jsonb_set(options, '{schedule}', jsonb_build_object('endAt', ${new Date(
        Date.now() + ms,
      ).toISOString()}::text)) where id = ${run.planted.campaignId}`.execute(db);
    await endIn(3_600_000);
    await run.step();
    await run.send();
    const { waitMs } = await run.step();
    expect(waitMs).toBeGreaterThan(3_500_000);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
    await endIn(-1);
    expect(await run.step()).toEqual({ shards: [] });
    expect((await readCounts(db, run.runId)).sms).toMatchObject({ sent: 3, expired: 17, waiting: 0 });
    expect(await wrongCodeCounts(db, run.runId)).toEqual([]);
    expect(await run.control()).toEqual({ control: 'run', reason: null });
    // What a clock that is behind might have taken for a stage that may go.
    expect(await run.stage()).toMatchObject({ stage: 1, closed: false });
    expect(await run.step()).toEqual({ shards: [] });
  });
});
