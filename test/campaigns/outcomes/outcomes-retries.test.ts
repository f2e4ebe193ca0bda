/** Proves which outcomes give a recipient another attempt, and that a repeated event gives none. */

import { type Kysely, sql } from 'kysely';
import { cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { abortIfTooManyFail } from '../../../src/campaigns/outcomes/abort-watch';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { listRecipients } from '../../../src/campaigns/reports/recipients';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { moveRun } from '../../../src/campaigns/runs/runs';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('retries by the event feed', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const lane = (runId: string) => ({ runId, channel: 'sms' as const, shard: 0, lane: 0 });

  async function takeOn(runId: string, size: number) {
    const taking = await takePage(db, lane(runId), size);
    if (taking.kind !== 'page') throw new Error('no page');
    const recipients = await offerChunk(db, taking.page, size);
    return { page: taking.page, recipients };
  }

  async function acceptedRun(contacts: number, options: Record<string, unknown>) {
    const run = await plantAudience(db, { contacts, options });
    const { page } = await takeOn(run.runId, contacts);
    await recordChunk(db, page, []);
    return run;
  }

  function event(
    runId: string,
    seq: number,
    attempt: number,
    state: MessageState,
    code?: string,
  ): MessageEvent {
    const uid = messageUid({ runId, channel: 'sms', seq }, attempt);
    const at = new Date().toISOString();
    return { seq: 1, at, uid, id: newId('msg'), channel: 'sms', type: state, state, code };
  }

  async function tell(workspaceId: string, ...events: MessageEvent[]): Promise<void> {
    const cursor = await readCursor(db, workspaceId);
    expect(await applyEvents(db, workspaceId, cursor, `${cursor}x`, events)).toBeDefined();
  }

  /** By the counts; checks that the report says the same of each. */
  async function states(runId: string): Promise<Record<string, number>> {
    const { total, ...counts } = (await readCounts(db, runId)).sms ?? { total: 0 };
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(total);
    const { recipients } = await listRecipients(db, runId, { limit: 1000 });
    const listed: Record<string, number> = {};
    for (const { state } of recipients) listed[state] = (listed[state] ?? 0) + 1;
    const counted = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
    expect(counted).toEqual(listed);
    return counted;
  }

  const recipient = (runId: string, seq: number) =>
    db
      .selectFrom('recipients')
      .select(['state', 'code', 'attempt', 'attempts', 'retry_at', 'doubts'])
      .where('run_id', '=', runId)
      .where('seq', '=', seq)
      .executeTakeFirstOrThrow();

  async function passTime(runId: string): Promise<void> {
    await db
      .updateTable('recipients')
      .set({ retry_at: new Date(0) })
      .where('run_id', '=', runId)
      .where('state', '=', 'waiting')
      .execute();
  }

  const RETRY = { delivery: { retry: { maxAttempts: 2, initialDelaySeconds: 30 } } };

  test('gives those who failed for the moment another attempt, and the same page changes nothing more', async () => {
    const { runId, workspaceId } = await acceptedRun(4, RETRY);
    const page = [
      event(runId, 0, 0, 'sent'),
      event(runId, 0, 0, 'failed', 'provider_transient'),
      event(runId, 1, 0, 'failed', 'attempts_exhausted'),
      event(runId, 2, 0, 'failed', 'provider_rejected'),
      event(runId, 3, 0, 'undelivered', 'provider_transient'),
    ];
    await tell(workspaceId, ...page);
    expect(await states(runId)).toEqual({ waiting: 2, failed: 1, undelivered: 1 });
    const once = await recipient(runId, 0);
    expect(once).toMatchObject({ attempt: 1, attempts: 1, code: 'provider_transient' });
    await tell(workspaceId, ...page, ...page);
    expect(await recipient(runId, 0)).toEqual(once);
    expect(await states(runId)).toEqual({ waiting: 2, failed: 1, undelivered: 1 });

    await passTime(runId);
    const { page: retries, recipients } = await takeOn(runId, 10);
    expect(recipients.map(({ seq, attempt }) => [seq, attempt])).toEqual([
      [0, 1],
      [1, 1],
    ]);
    await recordChunk(
      db,
      retries,
      recipients.map(({ seq, attempt }) => ({ seq, attempt, state: 'accepted', attempted: true })),
    );
    await tell(
      workspaceId,
      event(runId, 0, 1, 'failed', 'provider_transient'),
      event(runId, 1, 1, 'delivered'),
    );
    expect(await states(runId)).toEqual({ delivered: 1, failed: 2, undelivered: 1 });
    expect(await recipient(runId, 0)).toMatchObject({ attempts: 2, code: 'attempts_exhausted' });
  });

  test('gives no recipient another attempt where the campaign did not ask for it, or the run is over', async () => {
    const silent = await acceptedRun(1, {});
    await tell(silent.workspaceId, event(silent.runId, 0, 0, 'failed', 'provider_transient'));
    expect(await states(silent.runId)).toEqual({ failed: 1 });
    const over = await acceptedRun(1, RETRY);
    await moveRun(db, over.runId, 'completed');
    await tell(over.workspaceId, event(over.runId, 0, 0, 'failed', 'provider_transient'));
    expect(await states(over.runId)).toEqual({ failed: 1 });
  });

  test('sends unknown messages again, and accepts a good event of the former attempt', async () => {
    const { runId, workspaceId } = await acceptedRun(3, { delivery: { onUnknown: 'resend' } });
    await tell(workspaceId, ...[0, 1, 2].map((seq) => event(runId, seq, 0, 'unknown', 'answer_lost')));
    expect(await states(runId)).toEqual({ waiting: 3 });
    expect(await recipient(runId, 0)).toMatchObject({ attempt: 1, attempts: 1, doubts: [0] });
    await tell(
      workspaceId,
      event(runId, 0, 0, 'sent'),
      event(runId, 1, 0, 'delivered'),
      event(runId, 2, 0, 'failed'),
    );
    expect(await states(runId)).toEqual({ waiting: 1, sent: 1, delivered: 1 });
    expect(await recipient(runId, 0)).toMatchObject({ retry_at: null });
    expect(await takePage(db, lane(runId), 10)).toMatchObject({ kind: 'idle' });
  });

  test('names the message that arrived, where the next one was planned and never offered', async () => {
    const { runId, workspaceId } = await acceptedRun(2, { delivery: { onUnknown: 'resend' } });
    await tell(workspaceId, ...[0, 1].map((seq) => event(runId, seq, 0, 'unknown', 'answer_lost')));
    await tell(workspaceId, event(runId, 0, 0, 'delivered'));
    await cancelUnsent(db, runId);
    const { recipients } = await listRecipients(db, runId, { limit: 10 });
    expect(recipients.map(({ state, attempts, uid }) => [state, attempts, uid])).toEqual([
      ['delivered', 1, messageUid({ runId, channel: 'sms', seq: 0 }, 0)],
      ['unknown', 1, messageUid({ runId, channel: 'sms', seq: 1 }, 0)],
    ]);
  });

  test('counts no planned attempt when the operator asked for it and the former one arrives', async () => {
    const { runId, workspaceId, campaignId } = await acceptedRun(1, {});
    await tell(workspaceId, event(runId, 0, 0, 'failed', 'provider_rejected'));
    await moveRun(db, runId, 'running');
    await retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
    await tell(workspaceId, event(runId, 0, 0, 'delivered'));
    const { recipients } = await listRecipients(db, runId, { limit: 10 });
    expect(recipients).toMatchObject([
      { state: 'delivered', attempts: 1, uid: messageUid({ runId, channel: 'sms', seq: 0 }, 0) },
    ]);
  });

  test('keeps those unknown of whom the service does not know, when nothing else is said', async () => {
    const { runId, workspaceId } = await acceptedRun(1, RETRY);
    await tell(workspaceId, event(runId, 0, 0, 'unknown', 'answer_lost'));
    expect(await states(runId)).toEqual({ unknown: 1 });
  });

  test('voids the result of a page whose recipient the feed has given another attempt meanwhile', async () => {
    const { runId, workspaceId } = await acceptedRun(1, {
      delivery: { retry: { maxAttempts: 3, initialDelaySeconds: 30 } },
    });
    await tell(workspaceId, event(runId, 0, 0, 'failed', 'provider_transient'));
    await passTime(runId);
    const { page, recipients } = await takeOn(runId, 1);
    await tell(workspaceId, event(runId, 0, 1, 'failed', 'provider_transient'));
    await recordChunk(
      db,
      page,
      recipients.map(({ seq, attempt }) => ({ seq, attempt, state: 'accepted', attempted: true })),
    );
    expect(await states(runId)).toEqual({ waiting: 1 });
    expect(await recipient(runId, 0)).toMatchObject({ attempt: 2, attempts: 2 });
  });

  test('does not send again, in a page that was taken over, what the feed has reported since', async () => {
    const run = await plantAudience(db, { contacts: 3, options: RETRY });
    await takeOn(run.runId, 3);
    await tell(
      run.workspaceId,
      event(run.runId, 0, 0, 'sent'),
      event(run.runId, 1, 0, 'failed', 'provider_transient'),
    );
    const { recipients } = await takeOn(run.runId, 3);
    expect(recipients.map(({ seq }) => seq)).toEqual([2]);
  });

  test('stops a run of which too many fail, and counts anew once it is resumed', async () => {
    const { runId, workspaceId } = await acceptedRun(20, { abort: { failureRate: 0.5, minSample: 4 } });
    const outcome = (seq: number, state: MessageState) => event(runId, seq, 0, state);
    const run = () => db.selectFrom('runs').selectAll().where('id', '=', runId).executeTakeFirstOrThrow();
    await tell(workspaceId, outcome(0, 'failed'), outcome(1, 'rejected'), outcome(2, 'delivered'));
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'run', reason: null });
    await tell(workspaceId, outcome(3, 'delivered'));
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({
      control: 'fail',
      reason: 'abort_threshold: 2 of 4 failed (50 %), the campaign stops at 50 %',
      abort_baseline: { failed: 2, settled: 4 },
    });

    await tell(workspaceId, outcome(4, 'failed'), outcome(5, 'failed'));
    await db
      .updateTable('runs')
      .set({ control: 'run', reason: null, launches: 2 })
      .where('id', '=', runId)
      .execute();
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'run', abort_baseline: { failed: 4, settled: 6 } });
    await tell(workspaceId, outcome(6, 'failed'), outcome(7, 'failed'), outcome(8, 'delivered'));
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'run' });
    await tell(workspaceId, outcome(9, 'delivered'));
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'fail', reason: expect.stringContaining('2 of 4 failed') });
  });

  test('stops a run whose failed recipients fail again, after each of the steps in which they were put back', async () => {
    const { runId, workspaceId, campaignId } = await acceptedRun(20, {
      abort: { failureRate: 0.5, minSample: 4 },
    });
    await moveRun(db, runId, 'running');
    const fail = (attempt: number, seqs: number[], code: string) =>
      tell(workspaceId, ...seqs.map((seq) => event(runId, seq, attempt, 'failed', code)));
    const run = () => db.selectFrom('runs').selectAll().where('id', '=', runId).executeTakeFirstOrThrow();
    await fail(0, [0, 1, 2, 3], 'first');
    await fail(0, [4, 5, 6, 7], 'second');
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'fail', abort_baseline: { failed: 8 } });
    await sql`update runs set control = 'run', reason = null, launches = 2 where id = ${runId}`.execute(db);

    const putBack = (code: string) =>
      retryFailed(db, workspaceId, campaignId, { states: ['failed'], codes: [code] });
    expect(await putBack('first')).toMatchObject({ retried: { sms: 4 } });
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ abort_baseline: { failed: 4, settled: 4, launch: 2 } });
    expect(await putBack('second')).toMatchObject({ retried: { sms: 4 } });
    await abortIfTooManyFail(db, runId, true);
    await passTime(runId);
    await takeOn(runId, 8);
    await fail(1, [0, 1, 2], 'first');
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'run' });
    await fail(1, [3], 'first');
    await abortIfTooManyFail(db, runId, true);
    expect(await run()).toMatchObject({ control: 'fail', reason: expect.stringContaining('4 of 4 failed') });
  });

  test('leaves a run alone that has no threshold', async () => {
    const { runId, workspaceId } = await acceptedRun(5, {});
    await tell(workspaceId, ...[0, 1, 2, 3, 4].map((seq) => event(runId, seq, 0, 'failed')));
    await abortIfTooManyFail(db, runId, true);
    const run = await db.selectFrom('runs').selectAll().where('id', '=', runId).executeTakeFirstOrThrow();
    expect(run).toMatchObject({ control: 'run', abort_baseline: null });
  });
});
