import { type Kysely, sql } from 'kysely';
import { letGo } from '../../../src/campaigns/actions/let-go';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('letting go a campaign whose occurrences go on side by side', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** An occurrence that waits to be let go, of a campaign that shows the one after it. */
  async function plant() {
    const options = { schedule: { cron: '0 9 * * *', recipientLocal: true } };
    const run = await StagedRun.plant(db, { stages: [{ recipients: 3 }, { recipients: 5 }] }, { options });
    const newer = `${run.runId}-2`;
    await sql`
      insert into runs (id, workflow_id, workspace_id, campaign_id, number, phase, control)
      select ${newer}, ${newer}, workspace_id, campaign_id, number + 1, 'running', 'run' from runs
      where id = ${run.runId}`.execute(db);
    const { campaignId, workspaceId } = run.planted;
    await sql`update campaigns set stage = 'scheduled', current_run = ${newer} where id = ${campaignId}`.execute(
      db,
    );
    await run.step();
    await run.send();
    await run.step();
    expect(await run.stage()).toMatchObject({ stage: 1, sent: true, nextInSeconds: null });
    return { run, newer, letGo: () => letGo(db, workspaceId, campaignId, { stages: 1 }) };
  }

  test('ends the wait of each of them, because no other call reaches an older one', async () => {
    const { run, newer, letGo } = await plant();
    await letGo();
    expect(await run.stage()).toMatchObject({ stage: 1, nextInSeconds: 0 });
    const { rows } = await sql`select released_to from run_releases where run_id = ${newer}`.execute(db);
    expect(rows).toEqual([{ released_to: 1 }]);
    await run.step();
    expect(await run.stage()).toMatchObject({ stage: 2 });
  });

  test('ends the wait of an older one where the newest has ended', async () => {
    const { run, newer, letGo } = await plant();
    await closeRun(db, newer, 'completed', undefined);
    await letGo();
    expect(await run.stage()).toMatchObject({ stage: 1, nextInSeconds: 0 });
  });

  test('is refused where a gate has paused them', async () => {
    const { run, newer, letGo } = await plant();
    const reason = JSON.stringify({ code: 'gate', metric: 'failed', value: 0.5, above: 0.1, sample: 10 });
    await sql`update runs set control = 'pause', own_reason = ${reason} where id in (${run.runId}, ${newer})`.execute(
      db,
    );
    await expect(letGo()).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await run.stage()).toMatchObject({ nextInSeconds: null });
  });

  test('is refused where none goes on', async () => {
    const { run, newer, letGo } = await plant();
    for (const id of [run.runId, newer]) await closeRun(db, id, 'failed', 'abort_threshold: x');
    await expect(letGo()).rejects.toMatchObject({ code: 'illegal_transition' });
  });
});
