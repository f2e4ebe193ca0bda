/** Proves when a recipient’s next channel begins, and when it is canceled. */

import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { openCalls } from '../../../src/campaigns/actions/cancel-run';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import { endRecipient, markCalling, openCall, recordStep } from '../../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { openFallbackTurns } from '../../../src/campaigns/runs/fallback-turns';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts, unsettled } from '../../../src/campaigns/runs/ledger-counts';
import type { Channel } from '../../../src/domain/channel';
import { type EarlierChannel, nextTurn, standingOf } from '../../../src/domain/fallback';
import { RECIPIENT_STATES, RETRIED, type RecipientState } from '../../../src/domain/recipient';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const AFTER_MS = 60_000;

describeWithDatabase('a run that goes from channel to channel', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** Contacts `1`… with both addresses, without those that are listed. */
  async function plant(contacts: number, channels: Channel[], without: { email?: number[] } = {}) {
    const run = await plantRun(db, { contacts });
    for (const contact of without.email ?? []) {
      await sql`update contacts set email = null where id = ${run.listId} || '-' || lpad(${String(contact)}, 7, '0')`.execute(
        db,
      );
    }
    for (const [turn, channel] of channels.entries()) {
      await freezeAudience(db, {
        ...{ runId: run.runId, workspaceId: run.workspaceId, channel, turn },
        ...{ contactListIds: [run.listId], placeholders: [], campaignParams: {} },
      });
    }
    const rule = { runId: run.runId, channels, afterMs: AFTER_MS, tellsMore: true };
    return { ...run, rule, give: async () => (await openFallbackTurns(db, rule)).shards };
  }

  /** Takes on all that is due on a channel, and records it. */
  async function send(runId: string, channel: Channel, state: 'accepted' | 'rejected' = 'accepted') {
    const taking = await takePage(db, { runId, channel, shard: 0, lane: 0 }, 1_000);
    if (taking.kind !== 'page') return [];
    const offered = await offerChunk(db, taking.page, 1_000);
    await recordChunk(
      db,
      taking.page,
      offered.map(({ seq }) => ({ seq, state, attempted: true })),
    );
    return offered.map(({ contactId }) => Number(contactId.slice(-7)));
  }

  async function set(runId: string, channel: Channel, contact: number, state: RecipientState, agoMs = 0) {
    const row = sql`run_id = ${runId} and channel = ${channel} and contact_id like ${`%-${String(contact).padStart(7, '0')}`}`;
    await sql`
      with old as (select run_id, channel, shard, state from recipients where ${row}), moved as (
        insert into shard_counts (run_id, channel, shard, state, count)
        select run_id, channel, shard, t.state, t.n from old, lateral (
          values (old.state, -1), (${state}, 1)) t(state, n) where t.state <> 'pending' and old.state <> ${state}
        on conflict (run_id, channel, shard, state) do update set count = shard_counts.count + excluded.count
      )
      update recipients set state = ${state}, updated_at = now() - ${agoMs} * interval '1 millisecond'
      where ${row}`.execute(db);
  }

  async function rows(runId: string, channel: Channel) {
    const found = await sql<{ row: string }>`
      select right(contact_id, 7)::int || ' ' || state || ' ' || coalesce(code, '-') || case
        when retry_at is null then '' else ' due' end as row
      from recipients where run_id = ${runId} and channel = ${channel} order by contact_id`.execute(db);
    return found.rows.map(({ row }) => row);
  }

  test('holds the later channels back, except of contacts that have no earlier one', async () => {
    const { runId, give } = await plant(3, ['email', 'sms'], { email: [2] });
    expect(await rows(runId, 'sms')).toEqual([
      '1 waiting earlier_channel',
      '2 waiting earlier_channel',
      '3 waiting earlier_channel',
    ]);
    expect(await send(runId, 'sms')).toEqual([]);
    expect(await give()).toEqual([{ channel: 'sms', shard: 0 }]);
    expect(await send(runId, 'sms')).toEqual([2]);
    expect(await send(runId, 'email')).toEqual([1, 3]);
    expect(await give()).toEqual([]);
    const { email, sms } = await readCounts(db, runId);
    expect(email).toMatchObject({ total: 2, accepted: 2 });
    expect(sms).toMatchObject({ total: 3, accepted: 1, waiting: 2 });
  });

  test('goes on with whom the first channel failed, and cancels whom it reached', async () => {
    const { runId, give } = await plant(5, ['email', 'sms']);
    await send(runId, 'email');
    await set(runId, 'email', 1, 'undelivered');
    await set(runId, 'email', 2, 'delivered');
    await set(runId, 'email', 3, 'sent', AFTER_MS + 1_000);
    await set(runId, 'email', 4, 'sent', AFTER_MS - 10_000);
    await set(runId, 'email', 5, 'unknown', AFTER_MS + 1_000);
    await give();
    expect(await rows(runId, 'sms')).toEqual([
      '1 waiting - due',
      '2 canceled reached_before',
      '3 waiting - due',
      '4 waiting earlier_channel',
      '5 waiting - due',
    ]);
    expect(await send(runId, 'sms')).toEqual([1, 3, 5]);
    expect((await readCounts(db, runId)).sms).toMatchObject({
      total: 5,
      accepted: 3,
      waiting: 1,
      canceled: 1,
    });
  });

  test('closes a later channel again when the first had success after all, and sends nothing meanwhile', async () => {
    const { runId, give } = await plant(2, ['email', 'sms']);
    await send(runId, 'email', 'rejected');
    await give();
    await set(runId, 'email', 1, 'delivered');
    expect(await send(runId, 'sms')).toEqual([2]);
    expect(await give()).toEqual([{ channel: 'sms', shard: 0 }]);
    expect(await rows(runId, 'sms')).toEqual(['1 canceled reached_before', '2 accepted -']);
  });

  test('leaves those alone whose page is open, since they may have been sent to', async () => {
    const { runId, give } = await plant(1, ['email', 'sms']);
    await send(runId, 'email', 'rejected');
    await give();
    const taking = await takePage(db, { runId, channel: 'sms', shard: 0, lane: 0 }, 10);
    if (taking.kind !== 'page') throw new Error('no page');
    expect(await offerChunk(db, taking.page, 10)).toHaveLength(1);
    await set(runId, 'email', 1, 'delivered');
    expect(await give()).toEqual([]);
    await recordChunk(db, taking.page, [{ seq: 0, state: 'accepted', attempted: true }]);
    expect(await rows(runId, 'sms')).toEqual(['1 accepted -']);
  });

  test('gives no turns in a run that is paused', async () => {
    const { runId, give } = await plant(1, ['email', 'sms']);
    await send(runId, 'email', 'rejected');
    await sql`update runs set control = 'pause' where id = ${runId}`.execute(db);
    expect(await give()).toEqual([]);
    await sql`update runs set control = 'run' where id = ${runId}`.execute(db);
    expect(await give()).toHaveLength(1);
  });

  test('wakes no call of those who wait for their turn', async () => {
    const { runId, give } = await plant(2, ['sms', 'voice']);
    await send(runId, 'sms');
    expect(await openCalls(db, runId, -1, 10, 'run')).toEqual([]);
    await set(runId, 'sms', 2, 'undelivered');
    await give();
    expect(await openCalls(db, runId, -1, 10, 'run')).toEqual([{ seq: 1, from: 1 }]);
  });

  test('retries channel by channel too, and no recipient who was reached', async () => {
    const { runId, campaignId, workspaceId, rule } = await plant(4, ['email', 'sms', 'voice']);
    await sql`update campaigns set channels = '{email,sms,voice}' where id = ${campaignId}`.execute(db);
    await sql`update runs set phase = 'completed' where id = ${runId}`.execute(db);
    await send(runId, 'email');
    for (const [contact, email, sms, voice] of [
      [1, 'undelivered', 'undelivered', 'failed'],
      [2, 'undelivered', 'delivered', 'canceled'],
      [3, 'sent', 'undelivered', 'suppressed'],
      [4, 'rejected', 'expired', 'undelivered'],
    ] as const) {
      await set(runId, 'email', contact, email);
      await set(runId, 'sms', contact, sms);
      await set(runId, 'voice', contact, voice);
    }
    const { retried } = await retryFailed(db, workspaceId, campaignId, { states: RETRIED });
    expect(retried).toEqual({ email: 1, sms: 2, voice: 2 });
    expect(await rows(runId, 'email')).toEqual([
      '1 waiting - due',
      '2 undelivered -',
      '3 sent -',
      '4 rejected -',
    ]);
    expect((await rows(runId, 'sms')).filter((row) => row.includes('waiting'))).toEqual([
      '1 waiting earlier_channel',
      '3 waiting - due',
    ]);
    expect((await rows(runId, 'voice')).filter((row) => row.includes('waiting'))).toEqual([
      '1 waiting earlier_channel',
      '4 waiting - due',
    ]);
    expect(await send(runId, 'email')).toEqual([1]);
    await set(runId, 'email', 1, 'delivered');
    await openFallbackTurns(db, rule);
    expect((await rows(runId, 'sms'))[0]).toBe('1 canceled reached_before');
    expect((await rows(runId, 'voice'))[0]).toBe('1 canceled reached_before');
  });

  describe('whose first channel is voice', () => {
    /** A contact whom a page took for a call an hour after the audience was frozen. */
    async function taken() {
      const run = await plant(1, ['voice', 'sms']);
      await sql`update recipients set updated_at = now() - interval '1 hour' where run_id = ${run.runId}`.execute(
        db,
      );
      const taking = await takePage(db, { runId: run.runId, channel: 'voice', shard: 0, lane: 0 }, 1);
      if (taking.kind !== 'page') throw new Error('no page');
      return { ...run, page: taking.page };
    }
    const sms = async (runId: string) => (await rows(runId, 'sms'))[0];
    const agePlaced = (runId: string) =>
      sql`update calls set placed_at = now() - ${AFTER_MS + 1_000} * interval '1 millisecond' where run_id = ${runId}`.execute(
        db,
      );

    test('counts the silence from the call, not from the freeze', async () => {
      const { runId, give, page } = await taken();
      await give();
      expect(await sms(runId)).toBe('1 waiting earlier_channel');
      await offerChunk(db, page, 1);
      await recordChunk(db, page, []);
      // Its workflow has begun, and waits for a free slot.
      await give();
      expect(await sms(runId)).toBe('1 waiting earlier_channel');
      await openCall(db, { runId, seq: 0, attempt: 1 });
      await give();
      expect(await sms(runId)).toBe('1 waiting earlier_channel');
      await agePlaced(runId);
      await give();
      expect(await sms(runId)).toBe('1 waiting - due');
    });

    test('waits for a call that was put back and is not placed anew yet', async () => {
      const { runId, give, page } = await taken();
      await offerChunk(db, page, 1);
      await recordChunk(db, page, []);
      const first = { runId, seq: 0, attempt: 1 };
      await openCall(db, first);
      await agePlaced(runId);
      await recordStep(db, first, { kind: 'end', state: 'failed', outcome: 'failed' }, 'failed');
      await sql`update calls set ended_at = now(), outcome = 'failed' where run_id = ${runId}`.execute(db);
      await sql`update recipients set state = 'waiting', call_from = 2 where run_id = ${runId} and channel = 'voice'`.execute(
        db,
      );
      await markCalling(db, runId, [{ seq: 0, from: 2, waited: true }]);
      await give();
      expect(await sms(runId)).toBe('1 waiting earlier_channel');
    });

    test('ends at a service that tells no more than that it took the call', async () => {
      const { runId, rule } = await plant(1, ['voice', 'sms']);
      await send(runId, 'voice');
      await endRecipient(db, { runId, seq: 0 }, 'accepted', undefined);
      await openFallbackTurns(db, { ...rule, tellsMore: false });
      expect(await sms(runId)).toBe('1 canceled reached_before');
      expect(unsettled(await readCounts(db, runId), false)).toBe(0);
    });
  });

  test('decides as the rule does, whatever became of the earlier channels', async () => {
    const states = RECIPIENT_STATES.filter((state) => state !== 'pending');
    const cases = fc.sample(
      fc.tuple(
        fc.constantFrom(...states),
        fc.constantFrom(...states),
        fc.constantFrom(0, AFTER_MS - 5_000, AFTER_MS + 5_000),
      ),
      120,
    );
    for (const tellsMore of [true, false]) {
      const { runId, rule } = await plant(cases.length, ['voice', 'email', 'sms']);
      const expected: string[] = [];
      for (const [i, [first, second, agoMs]] of cases.entries()) {
        await set(runId, 'voice', i + 1, first, agoMs);
        if (first === 'sending') {
          await sql`insert into calls (run_id, seq, attempt, data, live, placed_at)
            values (${runId}, ${i}, 1, '{}', true, now() - ${agoMs} * interval '1 millisecond')`.execute(db);
        }
        await set(runId, 'email', i + 1, second, agoMs);
        // Where it waits without an hour its own turn is decided first, and may open or end what follows.
        const known = ([channel, state]: [Channel, RecipientState]): EarlierChannel => ({
          standing: standingOf(channel, state, tellsMore),
          sinceMs: -agoMs,
        });
        const turn = nextTurn([known(['voice', first]), known(['email', second])], AFTER_MS, 0);
        expected.push(
          `${i + 1} ${turn === 'reached' ? 'canceled reached_before' : turn === 'now' ? 'waiting - due' : 'waiting earlier_channel'}`,
        );
      }
      await openFallbackTurns(db, { ...rule, tellsMore, channels: ['voice', 'email', 'sms'] });
      const found = await rows(runId, 'sms');
      const differs = found.filter((row, i) => row !== expected[i] && cases[i]?.[1] !== 'waiting');
      expect(differs).toEqual([]);
    }
  });
});
