/** Proves what becomes of an occurrence that did not reach all of its recipients: it is sent again, or taken back. */

import { type Kysely, sql } from 'kysely';
import { createCarryOut } from '../../../src/campaigns/actions/carry-out';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import { replaceCampaign } from '../../../src/campaigns/actions/save-campaign';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { beginRun } from '../../../src/campaigns/runs/runs';
import { createLog } from '../../../src/log';
import { describeWithDatabase } from '../../support/storage';
import { dailyCampaign, finishRun } from './daily-campaign';

const DAY_MS = 86_400_000;

describeWithDatabase("a recurring campaign's newest occurrence", (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    await sql`delete from campaign_schedules`.execute(db);
  });

  const daily = (schedule?: object) => dailyCampaign(db, schedule);
  const finish = (runId: string) => finishRun(db, runId);

  test('sends again to those whom its newest occurrence did not reach, while it waits for the next', async () => {
    const { take, first, campaign, workspaceId, campaignId, act } = await daily();
    const again = () => retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    await expect(again()).rejects.toMatchObject({ code: 'illegal_transition' });
    const { runId } = (await take(first)) as { runId: string };
    await expect(again()).rejects.toMatchObject({ code: 'illegal_transition' });
    const { contactListIds } = await campaign();
    const audience = {
      runId,
      workspaceId,
      channel: 'sms' as const,
      contactListIds,
      placeholders: [],
      campaignParams: {},
    };
    await freezeAudience(db, audience);
    await finish(runId);
    await sql`with written as (
      update recipients set state = 'failed' where run_id = ${runId} returning shard
    ) update shard_counts set state = 'failed' where run_id = ${runId} and state = 'pending'`.execute(db);
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await sql`update runs set phase = 'failed', control = 'fail' where id = ${runId}`.execute(db);
    // A repeated resume is about the schedule, and sends nothing.
    expect(await act('resume')).toEqual({ schedule: true });
    expect(await again()).toMatchObject({ retried: { sms: 1 }, launch: { runId, launch: 2 } });
    expect(await campaign()).toMatchObject({ phase: 'scheduled', run: { id: runId, phase: 'running' } });
    expect(await again()).toMatchObject({ retried: { sms: 0 }, tell: { runId, launch: 2 } });
  });

  test('sends nothing again while it is paused, before it is resumed', async () => {
    const { take, first, campaign, workspaceId, campaignId, act } = await daily();
    const again = () => retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    const { runId } = (await take(first)) as { runId: string };
    const { contactListIds } = await campaign();
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms' as const, contactListIds },
      ...{ placeholders: [], campaignParams: {} },
    });
    await finish(runId);
    await sql`with written as (
      update recipients set state = 'failed' where run_id = ${runId} returning shard
    ) insert into shard_counts select ${runId}, 'sms', shard, 'failed', count(*)::int from written group by shard`.execute(
      db,
    );
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await act('pause');
    expect(await again()).toMatchObject({ retried: { sms: 1 }, launch: { runId, launch: 2 } });
    expect(await campaign()).toMatchObject({ phase: 'paused', run: { phase: 'running', control: 'pause' } });
    expect(await again()).toMatchObject({ retried: { sms: 0 } });
    await act('resume');
    expect(await campaign()).toMatchObject({ phase: 'scheduled', run: { phase: 'running', control: 'run' } });
  });

  test('does not take up an occurrence that was canceled, also while it is paused', async () => {
    const { take, first, campaign, workspaceId, campaignId, act } = await daily();
    const again = () => retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    const { runId } = (await take(first)) as { runId: string };
    await beginRun(db, runId);
    await sql`update runs set phase = 'canceled', control = 'cancel' where id = ${runId}`.execute(db);
    await expect(again()).rejects.toMatchObject({ code: 'illegal_transition' });
    await act('pause');
    await expect(again()).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await campaign()).toMatchObject({ phase: 'paused', run: { phase: 'canceled' } });
  });

  test('takes back what an occurrence that has failed did not send, when it is canceled', async () => {
    const { take, first, campaign, act, runs } = await daily();
    const { runId } = (await take(first)) as { runId: string };
    const { workspaceId, contactListIds } = { workspaceId: 'any', ...(await campaign()) };
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms' as const, contactListIds },
      ...{ placeholders: [], campaignParams: {} },
    });
    await beginRun(db, runId);
    await sql`update runs set phase = 'failed', control = 'fail' where id = ${runId}`.execute(db);
    expect(await act('cancel')).toEqual({ schedule: true, takenBack: [{ runId, launch: 2 }] });
    expect((await campaign()).phase).toBe('canceled');
    expect(await runs()).toMatchObject([{ phase: 'running', control: 'cancel' }]);
    expect(await act('cancel')).toMatchObject({ controlChanged: [{ runId, launch: 2 }] });
  });

  test('takes it back too where it was edited to a draft before it is canceled', async () => {
    const { take, first, campaign, act, runs, workspaceId } = await daily();
    const { runId } = (await take(first)) as { runId: string };
    const content = await campaign();
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms' as const, contactListIds: content.contactListIds },
      ...{ placeholders: [], campaignParams: {} },
    });
    await beginRun(db, runId);
    await sql`update runs set phase = 'failed', control = 'fail' where id = ${runId}`.execute(db);
    const edit = { start: false, needsApproval: false, own: undefined, note: undefined };
    const now = await campaign();
    await db.transaction().execute((tx) => replaceCampaign(tx, workspaceId, now, edit, content));
    expect((await campaign()).phase).toBe('draft');
    expect(await act('cancel')).toEqual({ takenBack: [{ runId, launch: 2 }] });
    expect((await campaign()).phase).toBe('canceled');
    expect(await runs()).toMatchObject([
      { id: runId, phase: 'running', control: 'cancel' },
      { phase: 'canceled', reason: 'withdrawn before it started' },
    ]);
  });

  test('takes back what each failed occurrence did not send, also where newer ones have ended since', async () => {
    const { take, first, campaign, act, runs, campaignId, workspaceId } = await daily();
    const { contactListIds } = await campaign();
    const failed: string[] = [];
    for (const day of [0, 1, 2]) {
      const { runId } = (await take(first + day * DAY_MS)) as { runId: string };
      await freezeAudience(db, {
        ...{ runId, workspaceId, channel: 'sms' as const, contactListIds },
        ...{ placeholders: [], campaignParams: {} },
      });
      await beginRun(db, runId);
      await sql`update runs set phase = 'failed', control = 'fail', reason = 'invalid_client: it refuses us' where id = ${runId}`.execute(
        db,
      );
      failed.push(runId);
    }
    const { runId: newest } = (await take(first + 3 * DAY_MS)) as { runId: string };
    await finish(newest);
    // Retention has deleted the recipients of the first: nothing of it is left to take back.
    await sql`update runs set recipients_deleted_at = now() where id = ${failed[0]}`.execute(db);
    const takenBack = failed.slice(1).map((runId) => ({ runId, launch: 2 }));
    const done: string[] = [];
    const { carryOut } = createCarryOut({
      db,
      log: createLog('silent'),
      launcher: {
        launch: async ({ runId, launch }) => void done.push(`launch ${runId} ${launch}`),
        controlChanged: async () => undefined,
      },
      holds: {
        hold: async (_, id) => void done.push(`hold ${id}`),
        release: async (_, id) => void done.push(`release ${id}`),
      },
    });

    const effects = await act('cancel');
    expect(effects).toEqual({ schedule: true, takenBack: expect.arrayContaining(takenBack) });
    await carryOut(workspaceId, campaignId, effects, { holds: true });
    // Held before anything else: the service may be about to hand over what an occurrence left there.
    expect(done[0]).toBe(`hold ${campaignId}`);
    expect(done.slice(1).sort()).toEqual(takenBack.map(({ runId }) => `launch ${runId} 2`).sort());
    expect((await campaign()).phase).toBe('canceled');
    const reason = 'invalid_client: it refuses us';
    expect(await runs()).toMatchObject([
      { phase: 'failed', control: 'fail' },
      { phase: 'running', control: 'cancel', reason },
      { phase: 'running', control: 'cancel', reason },
      { phase: 'completed' },
    ]);
  });
});
