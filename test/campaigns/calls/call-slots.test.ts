/** Proves that a campaign never has more concurrent calls than its limit, and uses every free slot. */

import { type Kysely, sql } from 'kysely';
import { amendCampaign } from '../../../src/campaigns/actions/change-campaign';
import { endSilentCall } from '../../../src/campaigns/calls/call-events';
import { slotsForFirstCalls, slotWait } from '../../../src/campaigns/calls/call-slots';
import { endRecipient, openCall, recordStep, withdrawCall } from '../../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { messageUid } from '../../../src/domain/ids';
import { LIMITS } from '../../../src/domain/limits';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase("places of a run's calls", (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const plant = (contacts: number, maxConcurrentCalls?: number) =>
    plantAudience(db, { contacts, channel: 'voice', options: { delivery: { maxConcurrentCalls } } });

  const call = (runId: string, seq: number, attempt = 1) => ({ runId, seq, attempt });

  /** Asks for all of these calls at the same moment; answers the positions of those that were opened. */
  async function openAll(runId: string, seqs: readonly number[], attempt = 1): Promise<number[]> {
    const answers = await Promise.all(seqs.map((seq) => openCall(db, call(runId, seq, attempt))));
    expect(answers.map(({ kind }) => kind).filter((kind) => kind !== 'open' && kind !== 'later')).toEqual([]);
    return seqs.filter((_, i) => answers[i]?.kind === 'open');
  }

  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  async function tellEnd(workspaceId: string, runId: string, seq: number): Promise<void> {
    const cursor = await readCursor(db, workspaceId);
    await applyEvents(db, workspaceId, cursor, `${cursor}x`, [
      {
        seq: 1,
        at: new Date().toISOString(),
        uid: messageUid({ runId, channel: 'voice', seq }, 1),
        id: newId('msg'),
        channel: 'voice',
        type: 'busy',
        state: 'undelivered',
      },
    ]);
  }

  test('are as many as the campaign allows, however many shards and redials ask at once', async () => {
    const { runId, campaignId, workspaceId } = await plant(40, 4);
    await sql`update shards set to_seq = 20, next_seq = 20 where run_id = ${runId}`.execute(db);
    await sql`insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
      values (${runId}, 'voice', 1, 20, 40, 30)`.execute(db);
    await sql`update recipients set shard = 1 where run_id = ${runId} and seq >= 20`.execute(db);
    const opened = await openAll(runId, range(0, 40));
    expect(opened).toHaveLength(4);

    // Calls that ended are dialled again, at once with everybody who has never been called.
    for (const seq of opened)
      await recordStep(db, call(runId, seq), { kind: 'redial', afterSeconds: 0 }, 'busy');
    const others = range(0, 40).filter((seq) => !opened.includes(seq));
    const [redialled, first] = await Promise.all([openAll(runId, opened, 2), openAll(runId, others)]);
    expect(redialled.length + first.length).toBe(4);

    // A bound that was changed holds for the next call.
    const rest = others.filter((seq) => !first.includes(seq));
    await amendCampaign(db, workspaceId, campaignId, { delivery: { maxConcurrentCalls: 6 } });
    const more = await openAll(runId, rest);
    expect(more).toHaveLength(2);
    await amendCampaign(db, workspaceId, campaignId, { delivery: { maxConcurrentCalls: 5 } });
    await withdrawCall(db, call(runId, more[0] as number));
    const left = rest.filter((seq) => !more.includes(seq));
    expect(await openAll(runId, left)).toEqual([]);
    await withdrawCall(db, call(runId, more[1] as number));
    expect(await openAll(runId, left)).toHaveLength(1);
  });

  test('are free again however a call ends, and not before', async () => {
    const { runId, workspaceId } = await plant(20, 1);
    const withdraw = (seq: number) => withdrawCall(db, call(runId, seq));
    const endings: ((seq: number) => Promise<unknown>)[] = [
      (seq) => tellEnd(workspaceId, runId, seq),
      (seq) => recordStep(db, call(runId, seq), { kind: 'redial', afterSeconds: 60 }, 'busy'),
      (seq) =>
        recordStep(db, call(runId, seq), { kind: 'end', state: 'failed', outcome: 'failed' }, 'failed'),
      (seq) => endRecipient(db, { runId, seq }, 'rejected', 'refused'),
      withdraw,
      async (seq) => {
        await sql`update calls set dialled_at = now(), heard_at = now() - interval '1 hour'
          where run_id = ${runId} and seq = ${seq}`.execute(db);
        await endSilentCall(db, call(runId, seq), 60);
      },
      // Nobody is left to end it.
      (seq) =>
        sql`update calls set placed_at = now() - make_interval(hours => ${LIMITS.callSilenceHours + 1}::int)
          where run_id = ${runId} and seq = ${seq}`.execute(db),
    ];
    for (const [seq, end] of endings.entries()) {
      expect(await openAll(runId, [seq])).toEqual([seq]);
      expect(await openAll(runId, [seq + 1])).toEqual([]);
      // Whoever takes over a call that was written ahead has its place, and does not take it back.
      if (end !== withdraw)
        expect(await openCall(db, call(runId, seq))).toMatchObject({ kind: 'open', inDoubt: true });
      await end(seq);
    }
    expect(await openAll(runId, [endings.length])).toHaveLength(1);
  });

  test('are asked for again one after the other, and more seldom while nothing moves', async () => {
    const { runId } = await plant(2, 1);
    expect(await slotWait(db, runId)).toBeUndefined();
    await openAll(runId, [0]);
    const waits = await Promise.all(range(0, 100).map(() => slotWait(db, runId)));
    const sorted = waits.map((wait) => wait ?? 0).sort((one, other) => one - other);
    const lastTurn = 1_000 * (100 / LIMITS.placeAsksPerSecondMin);
    expect(sorted[0]).toBeGreaterThan(300);
    expect(sorted[0]).toBeLessThan(lastTurn / 2);
    expect(sorted.at(-1)).toBeGreaterThan(lastTurn / 2);
    expect(sorted.at(-1)).toBeLessThan(1.25 * lastTurn + 1);

    await sql`update call_places set ask_at = now() + interval '3 hours' where run_id = ${runId}`.execute(db);
    expect(await slotWait(db, runId)).toBeLessThanOrEqual(1.25 * LIMITS.placeWaitMs);
    await sql`update call_places set ask_at = now() where run_id = ${runId}`.execute(db);
    await sql`update calls set placed_at = now() - interval '10 hours' where run_id = ${runId}`.execute(db);
    expect(await slotWait(db, runId)).toBeGreaterThan(10 * 3_600_000 * LIMITS.placeQuietShare * 0.7);
  });

  test('are kept for calls that are due to be dialled again', async () => {
    const { runId } = await plant(10, 5);
    const places = () => slotsForFirstCalls(db, { runId, shard: 0 }, 1);
    expect(await places()).toBe(4);
    await openAll(runId, [0, 1]);
    await recordStep(db, call(runId, 0), { kind: 'redial', afterSeconds: 0 }, 'busy');
    await recordStep(db, call(runId, 1), { kind: 'redial', afterSeconds: 3_600 }, 'busy');
    expect(await places()).toBe(3);
    // But not for one whose workflow seems to be gone.
    await sql`update recipients set retry_at = now() - interval '1 day' where run_id = ${runId} and seq = 0`.execute(
      db,
    );
    expect(await places()).toBe(4);
  });
});
