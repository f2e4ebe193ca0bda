/** Proves that a retry sends again exactly to the chosen recipients, once per call. */

import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { failRun } from '../../../src/campaigns/runs/fail-run';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { closeRun, dueShards, frozenShards } from '../../../src/campaigns/runs/run-end';
import { liveRuns, moveRun } from '../../../src/campaigns/runs/runs';
import { RETRIED, type RecipientState } from '../../../src/domain/recipient';
import { plantAudience, plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('a run that goes on after its end', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const ENDS = ['delivered', 'failed', 'undelivered', 'unknown', 'rejected', 'expired', 'failed'] as const;

  /** A run whose recipients have ended, by their position in ENDS. */
  async function endedRun(phase: 'completed' | 'failed' = 'completed') {
    const { runId, workspaceId } = await plantAudience(db, { contacts: ENDS.length });
    const campaignId = (
      await db.selectFrom('runs').select('campaign_id').where('id', '=', runId).executeTakeFirstOrThrow()
    ).campaign_id;
    await moveRun(db, runId, 'running');
    const taking = await takePage(db, { runId, channel: 'sms', shard: 0, lane: 0 }, ENDS.length);
    if (taking.kind !== 'page') throw new Error('no page');
    const recipients = await offerChunk(db, taking.page, ENDS.length);
    await recordChunk(
      db,
      taking.page,
      recipients.map(({ seq }) => ({ seq, state: ENDS[seq] as 'failed', attempted: true })),
    );
    await moveRun(db, runId, phase, phase === 'failed' ? 'invalid_client: x' : undefined);
    return { runId, workspaceId, campaignId };
  }

  async function states(runId: string): Promise<Record<string, number>> {
    const { total: _total, ...counts } = (await readCounts(db, runId)).sms ?? { total: 0 };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  const rowOf = (runId: string) =>
    db.selectFrom('runs').selectAll().where('id', '=', runId).executeTakeFirstOrThrow();

  const sent = async (runId: string) =>
    (
      await db
        .selectFrom('recipients')
        .select(['seq', 'state', 'attempt', 'attempts'])
        .where('run_id', '=', runId)
        .orderBy('seq')
        .execute()
    ).map(({ state, attempt, attempts }) => `${state} ${attempt} ${attempts}`);

  test('sends again to exactly the recipients in the chosen states', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    const found = await retryFailed(db, workspaceId, campaignId, { states: ['failed', 'unknown'] });
    expect(found).toEqual({ retried: { sms: 3 }, launch: { runId, launch: 2 } });
    expect(await states(runId)).toEqual({
      waiting: 3,
      delivered: 1,
      undelivered: 1,
      rejected: 1,
      expired: 1,
    });
    expect(await sent(runId)).toEqual([
      'delivered 0 1',
      'waiting 1 1',
      'undelivered 0 1',
      'waiting 1 1',
      'rejected 0 1',
      'expired 0 1',
      'waiting 1 1',
    ]);
    expect(await rowOf(runId)).toMatchObject({
      phase: 'running',
      control: 'run',
      launches: 2,
      workflow_id: `campaign:${runId}:2`,
      finished_at: null,
    });
    const taking = await takePage(db, { runId, channel: 'sms', shard: 0, lane: 0 }, 100);
    expect(taking).toMatchObject({ kind: 'page', page: { seqs: [1, 3, 6] } });
  });

  test('sends again to those with one of the codes, even to those who were refused', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    await sql`update recipients set code = 'c' || seq where run_id = ${runId}`.execute(db);
    const which = { states: ['rejected', 'failed'] as const, codes: ['c4', 'c6', 'c0'] };
    expect((await retryFailed(db, workspaceId, campaignId, which)).retried).toEqual({ sms: 2 });
    expect((await sent(runId)).map((one) => one.startsWith('waiting'))).toEqual(
      ENDS.map((_, seq) => seq === 4 || seq === 6),
    );
  });

  test('leaves out a person who was erased, whose state stays', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    const [failed, undelivered] = ['failed', 'undelivered'].map((state) => ENDS.indexOf(state as 'failed'));
    await sql`update recipients set address = null, params = '{}' where run_id = ${runId}
      and seq in (${failed}, ${undelivered})`.execute(db);
    expect(await retryFailed(db, workspaceId, campaignId, { states: ['undelivered'] })).toEqual({
      retried: { sms: 0 },
    });
    expect(await rowOf(runId)).toMatchObject({ phase: 'completed', launches: 1 });
    expect((await retryFailed(db, workspaceId, campaignId, { states: ['failed'] })).retried).toEqual({
      sms: 1,
    });
    expect(await states(runId)).toMatchObject({ failed: 1, undelivered: 1, waiting: 1 });
  });

  test('changes nothing more when it is asked again', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    await retryFailed(db, workspaceId, campaignId, { states: RETRIED });
    const again = await retryFailed(db, workspaceId, campaignId, { states: RETRIED });
    expect(again.retried).toEqual({ sms: 0 });
    expect(again.launch).toBeUndefined();
    expect(await rowOf(runId)).toMatchObject({ launches: 2 });
  });

  test('leaves a completed run without recipients to retry unchanged', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    await retryFailed(db, workspaceId, campaignId, { states: RETRIED });
    await sql`update recipients set state = 'delivered' where run_id = ${runId}`.execute(db);
    await moveRun(db, runId, 'completed');
    expect(await retryFailed(db, workspaceId, campaignId, { states: RETRIED })).toEqual({
      retried: { sms: 0 },
    });
    expect(await rowOf(runId)).toMatchObject({ phase: 'completed', launches: 2 });
  });

  test('is not completed when a recipient was put back at the last moment', async () => {
    const { runId, workspaceId, campaignId } = await endedRun('failed');
    await retryFailed(db, workspaceId, campaignId, { states: ['unknown'] });
    expect(await closeRun(db, runId, 'completed', undefined)).toBe(false);
    expect(await rowOf(runId)).toMatchObject({ phase: 'running' });
    expect(await dueShards(db, runId)).toEqual([{ channel: 'sms', shard: 0 }]);
  });

  test('wants a shard woken whose retries are overdue, unless it is at work', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    await retryFailed(db, workspaceId, campaignId, { states: ['unknown'] });
    expect(await dueShards(db, runId, { overdueMs: 3_000 })).toEqual([]);
    await sql`update recipients set retry_at = now() - interval '4 seconds'
      where run_id = ${runId} and state = 'waiting'`.execute(db);
    expect(await dueShards(db, runId, { overdueMs: 3_000 })).toEqual([{ channel: 'sms', shard: 0 }]);
    await takePage(db, { runId, channel: 'sms', shard: 0, lane: 1 }, 100);
    expect(await dueShards(db, runId, { overdueMs: 3_000 })).toEqual([]);
    // Killed: nobody is at work any more.
    expect(await dueShards(db, runId)).toEqual([{ channel: 'sms', shard: 0 }]);
  });

  test('is canceled although it was found settled, when the operator was a moment faster', async () => {
    const { runId, workspaceId, campaignId } = await endedRun();
    await sql`update runs set phase = 'finishing', finished_at = null where id = ${runId}`.execute(db);
    await changeCampaign(db, workspaceId, campaignId, 'cancel');
    expect(await closeRun(db, runId, 'completed', undefined)).toBe(false);
    expect(await closeRun(db, runId, 'canceled', undefined)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'canceled' });
  });

  test('has nothing due when it is through', async () => {
    const { runId } = await endedRun();
    expect(await dueShards(db, runId)).toEqual([]);
    expect(await closeRun(db, runId, 'completed', undefined)).toBe(true);
  });

  test.each(['planning', 'canceled'] as const)('is refused while it is %s', async (phase) => {
    const { workspaceId, campaignId, runId } = await endedRun();
    await db.updateTable('runs').set({ phase }).where('id', '=', runId).execute();
    await expect(retryFailed(db, workspaceId, campaignId, { states: RETRIED })).rejects.toMatchObject({
      code: 'illegal_transition',
      message: expect.stringContaining(phase),
    });
  });

  test('goes on where it stopped when it is resumed after a failure', async () => {
    const { runId, workspaceId, campaignId } = await endedRun('failed');
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', reason: 'invalid_client: x' });
    expect(await changeCampaign(db, workspaceId, campaignId, 'resume')).toEqual({
      launch: { runId, launch: 2 },
    });
    expect(await rowOf(runId)).toMatchObject({
      phase: 'running',
      control: 'run',
      reason: null,
      finished_at: null,
      workflow_id: `campaign:${runId}:2`,
    });
    expect(await frozenShards(db, runId)).toEqual([{ channel: 'sms', shard: 0 }]);
    // Killed before the launch: whoever looks for live runs finds this one.
    expect(await liveRuns(db, workspaceId)).toMatchObject([{ runId, launch: 2 }]);
    expect(await changeCampaign(db, workspaceId, campaignId, 'resume')).toMatchObject({
      controlChanged: [{ runId, launch: 2 }],
    });
  });

  test('plans again when it failed before its audience was frozen', async () => {
    const { runId, workspaceId, campaignId, listId } = await plantRun(db, { contacts: 1 });
    await closeRun(db, runId, 'failed', 'template_not_found: gone');
    const resume = () => changeCampaign(db, workspaceId, campaignId, 'resume');
    // Nothing keeps the list of a run that is over.
    await expect(resume()).rejects.toMatchObject({ code: 'contact_list_not_found' });
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', launches: 1 });
    await sql`insert into contact_lists (id, workspace_id, name) values (${listId}, ${workspaceId}, 'L')`.execute(
      db,
    );
    await resume();
    expect(await rowOf(runId)).toMatchObject({ phase: 'planning', launches: 2 });
    expect(await frozenShards(db, runId)).toBeUndefined();
  });

  test('sends to none again whose list is gone before all of it was frozen', async () => {
    const { runId, workspaceId, campaignId } = await endedRun('failed');
    await sql`update audience_freezes set finished_at = null where run_id = ${runId}`.execute(db);
    const again = () => retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    await expect(again()).rejects.toMatchObject({ code: 'contact_list_not_found' });
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', launches: 1 });
    expect(await states(runId)).toMatchObject({ failed: 2 });
    await sql`insert into contact_lists (id, workspace_id, name)
      select unnest(contact_list_ids), ${workspaceId}, 'L' from campaigns where id = ${campaignId}`.execute(
      db,
    );
    expect(await again()).toMatchObject({ retried: { sms: 2 }, launch: { runId, launch: 2 } });
  });

  test('cannot be resumed before it has failed, but canceled', async () => {
    const { runId, workspaceId, campaignId } = await plantRun(db, { contacts: 1 });
    await failRun(db, runId, 'invalid_client: x');
    await expect(changeCampaign(db, workspaceId, campaignId, 'resume')).rejects.toMatchObject({
      message: expect.stringContaining('about to fail'),
    });
    await changeCampaign(db, workspaceId, campaignId, 'cancel');
    expect(await rowOf(runId)).toMatchObject({ control: 'cancel' });
  });

  test('keeps the first reason', async () => {
    const { runId } = await plantRun(db, { contacts: 1 });
    await failRun(db, runId, 'invalid_client: first');
    await closeRun(db, runId, 'failed', 'internal: second');
    expect(await rowOf(runId)).toMatchObject({ phase: 'failed', reason: 'invalid_client: first' });
  });

  test('asks for a new workflow for each recipient who is called again', async () => {
    const { runId, workspaceId } = await plantAudience(db, { contacts: 2, channel: 'voice' });
    const { campaign_id: campaignId } = await rowOf(runId);
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await sql`update recipients set attempt = 2, attempts = 2, state = 'undelivered' where run_id = ${runId} and seq = 0`.execute(
      db,
    );
    await sql`insert into shard_counts values (${runId}, 'voice', 0, 'undelivered', 1)`.execute(db);
    await db
      .updateTable('recipients')
      .set({ state: 'waiting' satisfies RecipientState, retry_at: new Date(0) })
      .where('run_id', '=', runId)
      .where('seq', '=', 1)
      .execute();
    await moveRun(db, runId, 'running');
    expect(await dueShards(db, runId)).toEqual([]);
    expect((await retryFailed(db, workspaceId, campaignId, { states: RETRIED })).retried).toEqual({
      voice: 1,
    });
    expect(await dueShards(db, runId)).toEqual([{ channel: 'voice', shard: 0 }]);
    // A call that waits to be dialled again has a workflow that does it.
    const taking = await takePage(db, { runId, channel: 'voice', shard: 0, lane: 0 }, 10);
    expect(taking).toMatchObject({ kind: 'page', page: { seqs: [0] } });
  });
});
