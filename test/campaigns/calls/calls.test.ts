/** Proves how a call’s row changes with attempts, refusals, events and silence. */

import type { Kysely } from 'kysely';
import { endSilentCall } from '../../../src/campaigns/calls/call-events';
import {
  endRecipient,
  openCall,
  readCallEnding,
  recordStep,
  withdrawCall,
} from '../../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, FEED_START, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { listRecipients } from '../../../src/campaigns/reports/recipients';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { deliveryRule } from '../../../src/domain/delivery-rule';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('calls of a run', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
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
    expect(await applyEvents(db, workspaceId, cursor, `${cursor}x`, events)).toBeDefined();
  }

  test('go from sending to waiting and back until one is the last', async () => {
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

  test('know that an attempt was begun before, unless it was certainly not placed', async () => {
    const { runId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    await openCall(db, key);
    expect(await withdrawCall(db, key)).toBe(true);
    expect(await openCall(db, key)).toMatchObject({ inDoubt: false });
    expect(await openCall(db, key)).toMatchObject({ inDoubt: true });
  });

  test('are not taken back by an attempt with a late refusal, once another one has asked', async () => {
    const { runId, workspaceId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    await openCall(db, key);
    await openCall(db, key);
    expect(await withdrawCall(db, key)).toBe(false);
    await tell(workspaceId, event(runId, 1, 'busy'));
    expect(await readCallEnding(db, key)).toMatchObject({ end: 'busy' });
  });

  test('are no attempts before they are placed, nor when their carrier could not place them', async () => {
    const { runId, workspaceId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    const attempts = async () => (await listRecipients(db, runId, { limit: 1 })).recipients[0]?.attempts;
    expect(await attempts()).toBe(0);
    await openCall(db, key);
    expect(await attempts()).toBe(1);
    await tell(workspaceId, { ...event(runId, 1, 'failed'), code: 'trunk_down' });
    await recordStep(db, key, { kind: 'end', state: 'failed', outcome: 'failed' }, 'failed');
    expect(await states(runId)).toEqual({ failed: 1 });
    expect(await attempts()).toBe(0);
  });

  test('are not placed while their owner has paused or canceled', async () => {
    const { runId } = await takenRun(1);
    for (const control of ['pause', 'cancel'] as const) {
      await db.updateTable('runs').set({ control }).where('id', '=', runId).execute();
      expect(await openCall(db, { runId, seq: 0, attempt: 1 })).toEqual({ kind: 'stopped', control });
    }
    await endRecipient(db, { runId, seq: 0 }, 'canceled', undefined);
    expect(await states(runId)).toEqual({ canceled: 1 });
  });

  test('store how they ended, who answered, and take certainty for doubt', async () => {
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

  test('leave the feed where it begins for a workspace that was never read', async () => {
    expect(await readCursor(db, newId('wsp'))).toBe(FEED_START);
  });

  test('end as expired when the next one would come too late, or the service says that this one did', async () => {
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

  test('are asked for again after their time only where one may be in the air', async () => {
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
    const none = await takenRun(1);
    await db
      .updateTable('recipients')
      .set({ due_at: new Date(Date.now() - 61_000) })
      .where('run_id', '=', none.runId)
      .execute();
    expect(await openCall(db, { ...first, runId: none.runId }, rule)).toEqual({ kind: 'over' });
    expect([await states(runId), await states(none.runId)]).toEqual([{ sending: 1 }, { expired: 1 }]);
  });

  test('end as unknown when no event follows, and otherwise when one does after all', async () => {
    const { runId, workspaceId } = await takenRun(1);
    const key = { runId, seq: 0, attempt: 1 };
    await openCall(db, key);
    const silentSince = (seconds: number) =>
      db
        .updateTable('calls')
        .set({ heard_at: new Date(Date.now() - seconds * 1000) })
        .where('run_id', '=', runId)
        .execute();
    await silentSince(5_000);
    // The service holds it still.
    expect(await endSilentCall(db, key, 600)).toBe(false);
    await tell(workspaceId, event(runId, 1, 'sent'), event(runId, 1, 'ringing'));
    expect(await endSilentCall(db, key, 600)).toBe(false);
    await silentSince(601);
    expect(await endSilentCall(db, key, 600)).toBe(true);
    expect(await readCallEnding(db, key)).toMatchObject({ end: 'unknown' });
    // Told between the workflow's look and what it writes down.
    await tell(workspaceId, event(runId, 1, 'busy'));
    await recordStep(db, key, { kind: 'end', state: 'unknown', outcome: 'unknown' }, 'unknown');
    expect(await states(runId)).toEqual({ undelivered: 1 });
  });

  test('do not count as attempts when their carrier could not place them', async () => {
    const { runId, workspaceId } = await takenRun(1);
    const attempts = async () =>
      (await db.selectFrom('recipients').select('attempts').where('run_id', '=', runId).executeTakeFirst())
        ?.attempts;
    const first = { runId, seq: 0, attempt: 1 };
    await openCall(db, first);
    expect(await attempts()).toBe(1);
    await tell(workspaceId, { ...event(runId, 1, 'failed'), code: 'network_failure' });
    expect(await readCallEnding(db, first)).toMatchObject({ end: 'failed', fault: 'carrier' });
    await recordStep(db, first, { kind: 'redial', afterSeconds: 1 }, 'failed');
    expect(await attempts()).toBe(0);
    const second = { ...first, attempt: 2 };
    await openCall(db, second);
    expect(await attempts()).toBe(1);
    await withdrawCall(db, second);
    expect(await attempts()).toBe(0);
  });

  test('keep their events’ data, in any order, up to the limit', async () => {
    const { runId, workspaceId } = await takenRun(1);
    await openCall(db, { runId, seq: 0, attempt: 1 });
    const end = {
      answeredBy: 'human',
      outcome: 'opted_out',
      durationMs: 4_000,
      digits: '9',
      said: 'x'.repeat(99_999),
    };
    await tell(workspaceId, event(runId, 1, 'completed', end));
    await tell(
      workspaceId,
      event(runId, 1, 'answered'),
      event(runId, 1, 'digits', { digits: '9', secret: 1 }),
    );
    const row = await db
      .selectFrom('calls')
      .selectAll()
      .where('run_id', '=', runId)
      .executeTakeFirstOrThrow();
    expect(row.data).toEqual({ answeredBy: 'human', outcome: 'opted_out', durationMs: 4_000, digits: '9' });
    expect(row.answered_at).not.toBeNull();
    expect(await readCallEnding(db, { runId, seq: 0, attempt: 1 })).toMatchObject({ told: 'opted_out' });
  });
});
