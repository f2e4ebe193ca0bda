import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { failRun } from '../../../src/campaigns/runs/fail-run';
import { takePage } from '../../../src/campaigns/runs/ledger';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { moveRun } from '../../../src/campaigns/runs/runs';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

/** Work of a launch may go on, or be repeated, when its run has been closed and goes on with another one. */
describeWithDatabase('a launch that another one has followed', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const rowOf = (runId: string) =>
    db
      .selectFrom('runs')
      .select(['phase', 'control', 'reason', 'launches'])
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();

  async function resumed() {
    const { runId, workspaceId, campaignId } = await plantAudience(db, { contacts: 2 });
    await moveRun(db, runId, 'running');
    await failRun(db, runId, 'invalid_client: x', { launch: 1 });
    expect(await closeRun(db, runId, 'failed', undefined, 1)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', control: 'fail' });
    await changeCampaign(db, workspaceId, campaignId, 'resume');
    return { runId, workspaceId, campaignId };
  }
  const GOES_ON = { phase: 'running', control: 'run', reason: null, launches: 2 };

  test('does not close the run, although it is answered that it is closed', async () => {
    const { runId } = await resumed();
    for (const phase of ['failed', 'canceled', 'completed'] as const) {
      expect(await closeRun(db, runId, phase, 'internal: late', 1)).toBe(true);
    }
    expect(await rowOf(runId)).toEqual(GOES_ON);
    expect(await closeRun(db, runId, 'failed', 'internal: now', 2)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', reason: 'internal: now' });
  });

  test('does not go on beside the run when it asks again to have it completed', async () => {
    const { runId, workspaceId, campaignId } = await plantAudience(db, { contacts: 1 });
    await moveRun(db, runId, 'running');
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = 'failed' where run_id = ${runId}`.execute(db);
    await sql`insert into shard_counts values (${runId}, 'sms', 0, 'failed', 1)`.execute(db);
    expect(await closeRun(db, runId, 'completed', undefined, 1)).toBe(true);
    await retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    expect(await closeRun(db, runId, 'completed', undefined, 1)).toBe(true);
    expect(await rowOf(runId)).toEqual(GOES_ON);
    expect(await closeRun(db, runId, 'completed', undefined, 2)).toBe(false);
  });

  test('does not stop the run for what it finds out late', async () => {
    const { runId } = await resumed();
    await failRun(db, runId, 'invalid_client: late', { launch: 1 });
    expect(await rowOf(runId)).toEqual(GOES_ON);
    await failRun(db, runId, 'invalid_client: now', { launch: 2 });
    expect(await rowOf(runId)).toMatchObject({ control: 'fail', reason: 'invalid_client: now' });
  });

  test('takes no page from the other’s lanes', async () => {
    const { runId } = await resumed();
    const key = { runId, channel: 'sms' as const, shard: 0, lane: 0 };
    expect(await takePage(db, { ...key, launch: 2 }, 1)).toMatchObject({ kind: 'page', page: { fence: 1 } });
    expect(await takePage(db, { ...key, launch: 1 }, 1)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await takePage(db, { ...key, launch: 2 }, 1)).toMatchObject({ kind: 'page', page: { fence: 2 } });
  });

  test('was begun by a release that did not name it, and ends the run all the same', async () => {
    const { runId } = await resumed();
    await failRun(db, runId, 'invalid_client: x');
    expect(await closeRun(db, runId, 'failed', undefined)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', reason: 'invalid_client: x' });
  });

  test('is not closed as failed once its owner wants it canceled', async () => {
    const { runId, workspaceId, campaignId } = await resumed();
    await changeCampaign(db, workspaceId, campaignId, 'cancel');
    expect(await closeRun(db, runId, 'failed', 'internal: x', 2)).toBe(false);
    expect(await rowOf(runId)).toMatchObject({ phase: 'running', control: 'cancel' });
  });
});
