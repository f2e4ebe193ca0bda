/** Proves that events move recipients up in rank only, and count them once. */

import { type Kysely, sql } from 'kysely';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, FEED_START, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('outcomes from the event feed', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function acceptedRun(contacts: number) {
    const run = await plantAudience(db, { contacts });
    const taking = await takePage(db, { runId: run.runId, channel: 'sms', shard: 0, lane: 0 }, contacts);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(db, taking.page, contacts);
    await recordChunk(db, taking.page, []);
    return run;
  }

  function event(runId: string, seq: number, state: MessageState, attempt = 0): MessageEvent {
    const uid = messageUid({ runId, channel: 'sms', seq }, attempt);
    return {
      seq: 1,
      at: new Date().toISOString(),
      uid,
      id: newId('msg'),
      channel: 'sms',
      type: state,
      state,
    };
  }

  async function states(runId: string) {
    const { total: _total, ...counts } = (await readCounts(db, runId)).sms ?? { total: 0 };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  test('moves recipients up, never down, and counts them once', async () => {
    const { runId, workspaceId } = await acceptedRun(5);
    const cursor = await readCursor(db, workspaceId);
    expect(cursor).toBe(FEED_START);
    const first = [
      event(runId, 0, 'delivered'),
      event(runId, 0, 'sent'),
      event(runId, 1, 'sent'),
      event(runId, 2, 'failed'),
    ];
    expect(await applyEvents(db, workspaceId, cursor, 'a', first)).toBeDefined();
    expect(await states(runId)).toEqual({ accepted: 2, sent: 1, delivered: 1, failed: 1 });
    const again = [event(runId, 0, 'sent'), event(runId, 1, 'sent'), event(runId, 2, 'delivered')];
    expect(await applyEvents(db, workspaceId, 'a', 'b', again)).toBeDefined();
    expect(await states(runId)).toEqual({ accepted: 2, sent: 1, delivered: 2 });
  });

  test.each([
    ['in one page', 2],
    ['in two pages', 1],
  ])('moves a delivered email to its hard bounce, and no other (%s)', async (_, each) => {
    const { runId, workspaceId } = await plantAudience(db, { contacts: 3, channel: 'email' });
    await takePage(db, { runId, channel: 'email', shard: 0, lane: 0 }, 3);
    const told = (seq: number, state: MessageState, code?: string): MessageEvent => ({
      ...event(runId, seq, state),
      uid: messageUid({ runId, channel: 'email', seq }, 0),
      ...{ channel: 'email', code },
    });
    const events = [0, 1, 2].map((seq) => told(seq, 'delivered'));
    const bounces = [told(0, 'undelivered', '5.1.1'), told(1, 'undelivered', '5.7.1')];
    let cursor = await readCursor(db, workspaceId);
    for (const page of each === 2 ? [[...events, ...bounces]] : [events, bounces, bounces]) {
      await applyEvents(db, workspaceId, cursor, `${cursor}.`, page);
      cursor = `${cursor}.`;
    }
    const { total: _total, ...counts } = (await readCounts(db, runId)).email ?? { total: 0 };
    expect(counts).toMatchObject({ delivered: 2, undelivered: 1 });
    const row = await db
      .selectFrom('recipients')
      .select(['state', 'code'])
      .where('run_id', '=', runId)
      .where('seq', '=', 0)
      .executeTakeFirst();
    expect(row).toEqual({ state: 'undelivered', code: '5.1.1' });
  });

  test('changes nothing for a reader whose cursor another has moved', async () => {
    const { runId, workspaceId } = await acceptedRun(2);
    await readCursor(db, workspaceId);
    await applyEvents(db, workspaceId, FEED_START, 'a', [event(runId, 0, 'sent')]);
    expect(await applyEvents(db, workspaceId, FEED_START, 'z', [event(runId, 1, 'failed')])).toBeUndefined();
    expect(await readCursor(db, workspaceId)).toBe('a');
    expect(await states(runId)).toEqual({ accepted: 1, sent: 1 });
  });

  test('ignores messages of other callers, and superseded attempts', async () => {
    const { runId, workspaceId } = await acceptedRun(2);
    await readCursor(db, workspaceId);
    const foreign = { ...event(runId, 0, 'failed'), uid: 'order-4711' };
    await applyEvents(db, workspaceId, FEED_START, 'a', [foreign, event(runId, 1, 'failed', 1)]);
    expect(await states(runId)).toEqual({ accepted: 2 });
  });

  test.each([[['sent', 'delivered']], [['delivered', 'sent']]] as const)(
    'takes the better of what a page tells of two messages to one recipient: %s',
    async ([ofFirst, ofSecond]) => {
      const { runId, workspaceId, campaignId } = await acceptedRun(1);
      await applyEvents(db, workspaceId, await readCursor(db, workspaceId), 'a', [event(runId, 0, 'failed')]);
      await sql`update runs set phase = 'completed' where id = ${runId}`.execute(db);
      await retryFailed(db, workspaceId, campaignId, { states: ['failed'] });
      const taking = await takePage(db, { runId, channel: 'sms', shard: 0, lane: 0 }, 1);
      if (taking.kind !== 'page') throw new Error('no page');
      const [again] = await offerChunk(db, taking.page, 1);
      expect(again?.attempt).toBe(1);
      await recordChunk(db, taking.page, [{ seq: 0, state: 'accepted', attempted: true, attempt: 1 }]);
      const both = [event(runId, 0, ofFirst), event(runId, 0, ofSecond, 1)];
      expect(await applyEvents(db, workspaceId, 'a', 'b', both)).toBeDefined();
      expect(await states(runId)).toEqual({ delivered: 1 });
    },
  );
});
