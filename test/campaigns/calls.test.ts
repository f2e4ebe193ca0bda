import type { Kysely } from 'kysely';
import {
  endedCalls,
  endRecipient,
  openCall,
  readCallEnding,
  recordStep,
  withdrawCall,
} from '../../src/campaigns/calls';
import { offerChunk, recordChunk, takePage } from '../../src/campaigns/ledger';
import { readCounts } from '../../src/campaigns/ledger-counts';
import { applyEvents, FEED_START, readCursor } from '../../src/campaigns/outcomes';
import type { CampaignTables } from '../../src/campaigns/tables';
import { deliveryRule } from '../../src/domain/delivery-rule';
import { messageUid } from '../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../src/domain/message';
import { newId } from '../../src/storage/new-id';
import { plantAudience } from '../support/audience';
import { describeEachEngine } from '../support/storage';

describeEachEngine('calls of a run', (engine) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await engine.open()).tables<CampaignTables>();
  });

  /** A run whose calls have been taken on, so that their workflows have begun. */
  async function takenRun(contacts: number) {
    const run = await plantAudience(db, { contacts, channel: 'voice' });
    const taking = await takePage(db, { runId: run.runId, channel: 'voice', shard: 0, lane: 0 }, contacts);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(db, taking.page, contacts);
    await recordChunk(db, taking.page, []);
    return run;
  }

  async function states(runId: string): Promise<Record<string, number>> {
    const { total: _total, ...counts } = (await readCounts(db, runId)).voice ?? { total: 0 };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  function event(runId: string, attempt: number, type: string, data?: Record<string, unknown>): MessageEvent {
    const uid = messageUid({ runId, channel: 'voice', seq: 0 }, attempt);
    const state: MessageState = type === 'unknown' ? 'unknown' : 'sent';
    return {
      seq: 1,
      at: new Date().toISOString(),
      uid,
      id: newId('msg'),
      channel: 'voice',
      type,
      state,
      data,
    };
  }

  async function tell(workspaceId: string, ...events: MessageEvent[]): Promise<void> {
    const cursor = await readCursor(db, workspaceId);
    expect(
      await applyEvents(db, workspaceId, cursor, `${cursor}x`, events, endedCalls(events)),
    ).toBeDefined();
  }

  it('go from sending to waiting and back until one is the last', async () => {
    const { runId } = await takenRun(1);
    expect(await states(runId)).toEqual({ sending: 1 });
    expect(await openCall(db, { runId, seq: 0, attempt: 1 })).toMatchObject({ kind: 'open', inDoubt: false });
    await recordStep(db, { runId, seq: 0, attempt: 1 }, { kind: 'redial', afterSeconds: 60 }, 'busy');
    expect(await states(runId)).toEqual({ waiting: 1 });
    expect(await openCall(db, { runId, seq: 0, attempt: 2 })).toMatchObject({ kind: 'open', inDoubt: false });
    expect(await states(runId)).toEqual({ sending: 1 });
    const end = { kind: 'end', state: 'delivered', outcome: 'human' } as const;
    await recordStep(db, { runId, seq: 0, attempt: 2 }, end, 'human');
    expect(await states(runId)).toEqual({ delivered: 1 });
    expect(await openCall(db, { runId, seq: 0, attempt: 3 })).toEqual({ kind: 'over' });
  });

  it('know that an attempt was begun before, unless it was certainly not placed', async () => {
    const { runId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    await openCall(db, key);
    expect(await openCall(db, key)).toMatchObject({ inDoubt: true });
    await withdrawCall(db, key);
    expect(await openCall(db, key)).toMatchObject({ inDoubt: false });
  });

  it('are not placed while their owner has paused or canceled', async () => {
    const { runId } = await takenRun(1);
    for (const control of ['pause', 'cancel'] as const) {
      await db.updateTable('runs').set({ control }).where('id', '=', runId).execute();
      expect(await openCall(db, { runId, seq: 0, attempt: 1 })).toEqual({ kind: 'stopped', control });
    }
    await endRecipient(db, { runId, seq: 0 }, 'canceled', undefined);
    expect(await states(runId)).toEqual({ canceled: 1 });
  });

  it('store how they ended, who answered, and take certainty for doubt', async () => {
    const { runId, workspaceId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    await openCall(db, key);
    await tell(workspaceId, event(runId, 1, 'ringing'));
    expect(await readCallEnding(db, key)).toBeUndefined();
    await tell(workspaceId, event(runId, 1, 'unknown'));
    expect(await readCallEnding(db, key)).toEqual({ end: 'unknown', answeredBy: undefined });
    const end = { kind: 'end', state: 'unknown', outcome: 'unknown' } as const;
    await recordStep(db, key, end, 'unknown');
    expect(await states(runId)).toEqual({ unknown: 1 });
    await tell(workspaceId, event(runId, 1, 'completed', { answeredBy: 'human' }));
    expect(await readCallEnding(db, key)).toEqual({ end: 'completed', answeredBy: 'human' });
    expect(await states(runId)).toEqual({ delivered: 1 });
    await tell(workspaceId, event(runId, 1, 'busy'));
    expect(await states(runId)).toEqual({ delivered: 1 });
  });

  it('leave the feed where it begins for a workspace that was never read', async () => {
    expect(await readCursor(db, newId('wsp'))).toBe(FEED_START);
  });

  it('end as expired when the next one would come too late, or the service says that this one did', async () => {
    const { runId, workspaceId } = await takenRun(2);
    const rule = deliveryRule({ delivery: { expireAfterSeconds: 60 } });
    const first = { runId, seq: 0, attempt: 1 };
    expect(await openCall(db, first, rule)).toMatchObject({ kind: 'open', inDoubt: false });
    await recordStep(db, first, { kind: 'redial', afterSeconds: 120 }, 'busy', rule);
    expect(await states(runId)).toEqual({ sending: 1, expired: 1 });
    expect(await openCall(db, { ...first, attempt: 2 }, rule)).toEqual({ kind: 'over' });

    const late = await takenRun(1);
    await openCall(db, { ...first, runId: late.runId }, rule);
    await tell(late.workspaceId, event(late.runId, 1, 'expired'));
    expect(await readCallEnding(db, { ...first, runId: late.runId })).toMatchObject({ end: 'expired' });
    await tell(workspaceId, event(runId, 1, 'completed'));
    expect(await states(runId)).toEqual({ sending: 1, expired: 1 });
  });

  it('are asked for again after their time only where one may be in the air', async () => {
    const { runId } = await takenRun(1);
    const first = { runId, seq: 0, attempt: 1 };
    await openCall(db, first);
    await db
      .updateTable('recipients')
      .set({ due_at: new Date(Date.now() - 61_000) })
      .where('run_id', '=', runId)
      .execute();
    const rule = deliveryRule({ delivery: { expireAfterSeconds: 60 } });
    expect(await openCall(db, first, rule)).toMatchObject({ kind: 'open', inDoubt: true });
    await withdrawCall(db, first);
    expect(await openCall(db, first, rule)).toEqual({ kind: 'over' });
    expect(await states(runId)).toEqual({ expired: 1 });
  });
});
