/** Proves that a run's timeline tells when its recipients entered their states, and agrees with the counts. */

import { type Kysely, sql } from 'kysely';
import { cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import { partSeconds } from '../../../src/campaigns/ledger/timeline';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, FEED_START, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { readTimeline } from '../../../src/campaigns/reports/run-timeline';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { moveRun } from '../../../src/campaigns/runs/runs';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const RECIPIENTS = 10;

describeWithDatabase('the timeline of a run', (database) => {
  let db: Kysely<CampaignTables>;
  let run: Awaited<ReturnType<typeof plantAudience>>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    run = await plantAudience(db, { contacts: RECIPIENTS });
    await moveRun(db, run.runId, 'running');
  });

  async function takeAll(): Promise<void> {
    const { runId, channel } = run;
    const taking = await takePage(db, { runId, channel, shard: 0, lane: 0 }, RECIPIENTS);
    if (taking.kind !== 'page') throw new Error('no page');
    const offered = await offerChunk(db, taking.page, RECIPIENTS);
    await recordChunk(
      db,
      taking.page,
      offered.map(({ seq }) => ({ seq, state: seq === 0 ? 'rejected' : 'accepted', attempted: true })),
    );
  }

  let seq = 0;
  async function tell(states: Record<number, MessageState[]>): Promise<void> {
    const { runId, workspaceId, channel } = run;
    const events = Object.entries(states).flatMap(([at, each]) =>
      each.map((state): MessageEvent => {
        const uid = messageUid({ runId, channel, seq: Number(at) }, 0);
        seq += 1;
        return { seq, at: new Date().toISOString(), uid, id: uid, channel, type: state, state };
      }),
    );
    const from = await readCursor(db, workspaceId);
    await applyEvents(db, workspaceId, from, `${from}${FEED_START}x`, events);
  }

  const sums = async (points = 200) => {
    const { points: found = [] } = (await readTimeline(db, run.runId, points))[run.channel] ?? {};
    const all: Record<string, number> = {};
    for (const { at: _, ...states } of found)
      for (const [state, n] of Object.entries(states)) all[state] = (all[state] ?? 0) + n;
    return all;
  };

  test('each recipient is counted as they enter a state, and those who were delivered were sent', async () => {
    expect(await sums()).toEqual({ pending: 10 });
    await takeAll();
    expect(await sums()).toEqual({ pending: 10, rejected: 1, accepted: 9 });
    await tell({ 1: ['sent'], 2: ['sent', 'delivered'], 3: ['sent', 'undelivered'], 4: ['failed'] });
    await tell({ 1: ['delivered'], 2: ['delivered'] });
    expect(await sums()).toEqual({
      ...{ pending: 10, accepted: 9, sent: 3, delivered: 2 },
      ...{ undelivered: 1, failed: 1, rejected: 1 },
    });
    const { sms } = await readCounts(db, run.runId);
    expect(sms).toMatchObject({ delivered: 2, undelivered: 1, failed: 1, rejected: 1, accepted: 5 });
  });

  test('what was canceled before a page took it is in the timeline too', async () => {
    await sql`update runs set control = 'cancel' where id = ${run.runId}`.execute(db);
    await cancelUnsent(db, run.runId);
    await moveRun(db, run.runId, 'canceled');
    expect(await sums()).toEqual({ pending: 10, canceled: 10 });
  });

  test('steps are as long as the points allow, from the start to the end', async () => {
    await takeAll();
    await sql`update runs set started_at = now() - interval '1000 seconds' where id = ${run.runId}`.execute(
      db,
    );
    const { sms } = await readTimeline(db, run.runId, 10);
    expect(sms?.stepSeconds).toBeGreaterThanOrEqual(100);
    expect(sms?.points.length).toBeLessThanOrEqual(10);
    expect(sms?.points.at(-1)).toMatchObject({ accepted: 9, rejected: 1 });
    expect(sms?.points[0]).toMatchObject({ accepted: 0 });
    const [first, second] = sms?.points ?? [];
    expect((second?.at.getTime() ?? 0) - (first?.at.getTime() ?? 0)).toBe((sms?.stepSeconds ?? 0) * 1_000);
    expect((await readTimeline(db, run.runId, 1)).sms?.points).toHaveLength(1);
    expect(await readTimeline(db, undefined, 10)).toEqual({});
  });

  test('a receipt of next week does not make a dot of the run', async () => {
    await takeAll();
    await moveRun(db, run.runId, 'completed');
    await sql`insert into run_timeline values
      (${run.runId}, 'sms', 'delivered', floor(extract(epoch from now()))::int8 + 604800, 0, 1)`.execute(db);
    const { sms } = await readTimeline(db, run.runId, 200);
    const [first] = sms?.points ?? [];
    const last = sms?.points.at(-1);
    expect((last?.at.getTime() ?? 0) - (first?.at.getTime() ?? 0)).toBeLessThan(20 * 60_000);
    expect(last).toMatchObject({ delivered: 1 });
  });

  test.each([0, 599, 600, 7_199, 7_200, 86_399, 86_400, 864_000])(
    'a run of %i seconds counts in parts of the length that the reader expects',
    async (age) => {
      await sql`update runs set started_at = now() - make_interval(secs => ${age + 0.5}) where id = ${run.runId}`.execute(
        db,
      );
      await sql`delete from run_timeline where run_id = ${run.runId}`.execute(db);
      await tell({ 1: ['sent'], 2: ['sent'] });
      const rows = await db.selectFrom('run_timeline').selectAll().where('run_id', '=', run.runId).execute();
      expect(rows).toMatchObject([{ state: 'sent', count: 2, slot: 0 }]);
      expect(Number(rows[0]?.second) % partSeconds(age)).toBe(0);
      expect(Math.abs(Date.now() / 1_000 - Number(rows[0]?.second))).toBeLessThanOrEqual(
        partSeconds(age) + 60,
      );
    },
  );
});
