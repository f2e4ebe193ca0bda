/** Proves that pages take each recipient once, and that a crash leaves a bounded number in doubt. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { listRecipients } from '../../../src/campaigns/reports/recipients';
import {
  type OpenPage,
  offerChunk,
  recordChunk,
  takePage,
  withdrawOffer,
} from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import type { RecipientResult } from '../../../src/campaigns/runs/write-results';
import { RECIPIENT_STATES, type RecipientState } from '../../../src/domain/recipient';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('the ledger', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const lane = (runId: string, number: number) => ({
    runId,
    channel: 'sms' as const,
    shard: 0,
    lane: number,
  });

  async function openPage(runId: string, number: number, size: number): Promise<OpenPage> {
    const taking = await takePage(db, lane(runId, number), size);
    if (taking.kind !== 'page') throw new Error(`expected a page, got ${JSON.stringify(taking)}`);
    return taking.page;
  }

  /** Counts of the states that occur; checks that all states are there and sum to the total. */
  async function counted(runId: string): Promise<Partial<Record<RecipientState, number>>> {
    const counts = (await readCounts(db, runId)).sms;
    if (!counts) throw new Error('no counts');
    const { total, ...states } = counts;
    expect(Object.keys(states).sort()).toEqual([...RECIPIENT_STATES].sort());
    expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(total);
    // The report must say of each recipient what the counts say of all.
    const listed = await listRecipients(db, runId, { limit: 1000 });
    for (const [state, count] of Object.entries(states)) {
      expect([state, listed.recipients.filter((recipient) => recipient.state === state).length]).toEqual([
        state,
        count,
      ]);
    }
    return Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0));
  }

  async function sendAll(page: OpenPage, results: (seq: number) => Partial<RecipientResult> = () => ({})) {
    while (page.resolved < page.size) {
      const recipients = await offerChunk(db, page, 10);
      await recordChunk(
        db,
        page,
        recipients.map(
          ({ seq }) => ({ seq, state: 'accepted', attempted: true, ...results(seq) }) as RecipientResult,
        ),
      );
    }
  }

  test('shares what would fit into one page among the lanes, as long as it is worth a page each', async () => {
    const { runId } = await plantAudience(db, { contacts: 4_100 });
    const sizes = [];
    for (const number of [0, 1]) sizes.push((await openPage(runId, number, 5_000)).size);
    expect(sizes).toEqual([2_050, 2_050]);
    expect(await takePage(db, lane(runId, 2), 5_000)).toMatchObject({ kind: 'idle' });
  });

  test('writes what becomes of a recipient in place, without an entry in any index', async () => {
    const { runId } = await plantAudience(db, { contacts: 5 });
    const written = await db.transaction().execute(async (tx) => {
      const inPlace = async () => {
        const { rows } = await sql<{ rows: number }>`
          select pg_stat_get_xact_tuples_hot_updated('recipients'::regclass)::int as rows`.execute(tx);
        return rows[0]?.rows ?? 0;
      };
      // What was written before may not have been published yet.
      const before = await inPlace();
      for (const state of ['sent', 'delivered']) {
        await sql`
          update recipients set state = ${state}, retry_at = null, updated_at = now() where run_id = ${runId}`.execute(
          tx,
        );
      }
      return (await inPlace()) - before;
    });
    expect(written).toBe(10);
  });

  test('takes recipients on in order, each on one page, and accepts them without a row write', async () => {
    const { runId } = await plantAudience(db, { contacts: 25 });
    expect(await counted(runId)).toEqual({ pending: 25 });
    const first = await openPage(runId, 0, 10);
    const second = await openPage(runId, 1, 10);
    expect(await counted(runId)).toEqual({ pending: 5, sending: 20 });
    const offered = await offerChunk(db, first, 10);
    expect(offered.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(offered[0]?.params).toEqual({ NAME: 'Name 1' });
    await sendAll(first);
    expect(await counted(runId)).toEqual({ pending: 5, sending: 10, accepted: 10 });
    await sendAll(second);
    await sendAll(await openPage(runId, 0, 10));
    expect(await counted(runId)).toEqual({ accepted: 25 });
    expect(await takePage(db, lane(runId, 0), 10)).toEqual({ kind: 'idle', until: undefined });
    const untouched = await db
      .selectFrom('recipients')
      .select('seq')
      .where('run_id', '=', runId)
      .where('state', '=', 'pending')
      .execute();
    expect(untouched).toHaveLength(25);
  });

  test('writes ahead what may have left, and gives exactly that to a successor', async () => {
    const { runId } = await plantAudience(db, { contacts: 30 });
    const dying = await openPage(runId, 0, 30);
    await offerChunk(db, dying, 10);
    await recordChunk(db, dying, []);
    await offerChunk(db, dying, 10);

    const successor = await openPage(runId, 0, 30);
    expect(successor).toMatchObject({
      page: dying.page,
      fence: dying.fence + 1,
      resolved: 10,
      offered: 20,
      size: 30,
    });
    await sendAll(successor);
    expect(await counted(runId)).toEqual({ accepted: 30 });
  });

  test('lets an attempt that was given up record nothing', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    const zombie = await openPage(runId, 0, 10);
    await offerChunk(db, zombie, 5);
    const successor = await openPage(runId, 0, 10);
    await expect(
      recordChunk(db, zombie, [{ seq: 0, state: 'rejected', attempted: true }]),
    ).rejects.toMatchObject({ code: 'page_fenced' });
    await expect(offerChunk(db, zombie, 10)).rejects.toMatchObject({ code: 'page_fenced' });
    await sendAll(successor);
    await expect(recordChunk(db, zombie, [])).rejects.toMatchObject({ code: 'page_fenced' });
    expect(await counted(runId)).toEqual({ accepted: 10 });
  });

  test('settles each recipient by itself, and takes retries on as pages of their own', async () => {
    const { runId } = await plantAudience(db, { contacts: 20 });
    const past = new Date(Date.now() - 1000);
    await sendAll(await openPage(runId, 0, 20), (seq) =>
      seq === 3
        ? { state: 'rejected', code: 'invalid_request' }
        : seq < 8 && seq > 4
          ? { state: 'waiting', retryAt: past, attempted: false }
          : {},
    );
    expect(await counted(runId)).toEqual({ accepted: 16, rejected: 1, waiting: 3 });
    const retry = await openPage(runId, 0, 2);
    expect(retry.seqs).toEqual([5, 6]);
    expect(await counted(runId)).toEqual({ accepted: 16, rejected: 1, waiting: 1, sending: 2 });
    const other = await openPage(runId, 1, 5);
    expect(other.seqs).toEqual([7]);
    await sendAll(retry);
    await sendAll(other, () => ({ state: 'unknown', code: 'answer_lost' }));
    expect(await counted(runId)).toEqual({ accepted: 18, rejected: 1, unknown: 1 });
  });

  test('says when the next retry is due', async () => {
    const { runId } = await plantAudience(db, { contacts: 5 });
    const retryAt = new Date(Date.now() + 60_000);
    await sendAll(await openPage(runId, 0, 5), (seq) =>
      seq === 2 ? { state: 'waiting', retryAt, attempted: false } : {},
    );
    expect(await takePage(db, lane(runId, 0), 5)).toEqual({ kind: 'idle', until: retryAt });
  });

  test('leaves no recipient in doubt when the service certainly took nothing', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    const page = await openPage(runId, 0, 10);
    await offerChunk(db, page, 10);
    await withdrawOffer(db, page);
    expect(await openPage(runId, 0, 10)).toMatchObject({ resolved: 0, offered: 0 });
  });

  test('stops taking pages when the owner pauses, and tells an open one at its next record', async () => {
    const { runId } = await plantAudience(db, { contacts: 20 });
    const page = await openPage(runId, 0, 10);
    await offerChunk(db, page, 5);
    await db.updateTable('runs').set({ control: 'pause' }).where('id', '=', runId).execute();
    expect(await recordChunk(db, page, [])).toBe('pause');
    expect(await takePage(db, lane(runId, 0), 10)).toEqual({ kind: 'stopped', control: 'pause' });
    await db.updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
    expect(await openPage(runId, 0, 10)).toMatchObject({ page: page.page, resolved: 5, offered: 5 });
  });
});
