import { type Kysely, sql } from 'kysely';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import { openCall } from '../../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { reserveContacts } from '../../../src/campaigns/policy/contact-caps';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import type { Channel } from '../../../src/domain/channel';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

/** A caller chooses the uids of their own messages, so a workspace's feed may name another's recipients. */
describeWithDatabase('events of one workspace that name recipients of another', (database) => {
  let db: Kysely<CampaignTables>;
  const intruder = newId('wsp');
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function acceptedRun(channel: Channel, contacts: number, options: Record<string, unknown> = {}) {
    const run = await plantAudience(db, { contacts, channel, options });
    const taking = await takePage(db, { runId: run.runId, channel, shard: 0, lane: 0 }, contacts);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(db, taking.page, contacts);
    await recordChunk(db, taking.page, []);
    return run;
  }

  function event(uid: string, channel: Channel, state: MessageState, type: string = state): MessageEvent {
    return { seq: 1, at: new Date().toISOString(), uid, id: newId('msg'), channel, type, state };
  }

  async function tell(workspaceId: string, ...events: MessageEvent[]) {
    const cursor = await readCursor(db, workspaceId);
    const taken = await applyEvents(db, workspaceId, cursor, `${cursor}x`, events);
    if (!taken) throw new Error('the cursor was moved');
    return taken;
  }

  /** All that a run has in tables which outcomes may change. */
  async function ledgerOf(runId: string) {
    const [recipients, counts, calls] = await Promise.all([
      sql`select * from recipients where run_id = ${runId} order by channel, seq`.execute(db),
      sql`select * from shard_counts where run_id = ${runId} order by channel, shard, state`.execute(db),
      sql`select * from calls where run_id = ${runId} order by seq, attempt`.execute(db),
    ]);
    return [recipients.rows, counts.rows, calls.rows];
  }

  const uidsOf = (runId: string, channel: Channel, contacts: number, attempt = 0) =>
    Array.from({ length: contacts }, (_, seq) => messageUid({ runId, channel, seq }, attempt));

  test('settle none of them', async () => {
    const { runId, workspaceId } = await acceptedRun('sms', 60);
    const before = await ledgerOf(runId);
    const events = uidsOf(runId, 'sms', 60).map((uid) => event(uid, 'sms', 'delivered'));
    expect(await tell(intruder, ...events)).toMatchObject({ runs: [] });
    expect(await ledgerOf(runId)).toEqual(before);
    expect(await tell(workspaceId, ...events)).toMatchObject({ runs: [runId] });
    expect(await ledgerOf(runId)).not.toEqual(before);
  });

  test('settle none beside recipients of their own', async () => {
    const [theirs, own] = [await acceptedRun('sms', 3), await acceptedRun('sms', 3)];
    const before = await ledgerOf(theirs.runId);
    const uids = [...uidsOf(theirs.runId, 'sms', 3), ...uidsOf(own.runId, 'sms', 3)];
    expect(await tell(own.workspaceId, ...uids.map((uid) => event(uid, 'sms', 'failed')))).toMatchObject({
      runs: [own.runId],
    });
    expect(await ledgerOf(theirs.runId)).toEqual(before);
    const { rows } = await sql<{ state: string }>`
      select distinct state from recipients where run_id = ${own.runId}`.execute(db);
    expect(rows).toEqual([{ state: 'failed' }]);
  });

  test('give none another attempt, and end none that has had one', async () => {
    const retry = { delivery: { retry: { maxAttempts: 3, initialDelaySeconds: 1 }, onUnknown: 'resend' } };
    const { runId, workspaceId, campaignId } = await acceptedRun('sms', 4, retry);
    const [failed, unknown, ...others] = uidsOf(runId, 'sms', 4) as [string, string, ...string[]];
    const news = (state: MessageState) => ({ ...event(failed, 'sms', state), code: 'provider_transient' });
    const before = await ledgerOf(runId);
    await tell(intruder, news('failed'), event(unknown, 'sms', 'unknown'));
    expect(await ledgerOf(runId)).toEqual(before);
    await tell(workspaceId, ...others.map((uid) => event(uid, 'sms', 'undelivered')));
    await sql`update runs set phase = 'completed' where id = ${runId}`.execute(db);
    await retryFailed(db, workspaceId, campaignId, { states: ['undelivered'] });
    const retried = await ledgerOf(runId);
    await tell(intruder, ...uidsOf(runId, 'sms', 4, 1).map((uid) => event(uid, 'sms', 'delivered')));
    expect(await ledgerOf(runId)).toEqual(retried);
  });

  test('end no call, and name none to its workflow', async () => {
    const { runId, workspaceId } = await acceptedRun('voice', 1);
    await openCall(db, { runId, seq: 0, attempt: 1 });
    const before = await ledgerOf(runId);
    const [uid] = uidsOf(runId, 'voice', 1, 1) as [string];
    const ended = event(uid, 'voice', 'failed', 'busy');
    expect(await tell(intruder, ended)).toMatchObject({ calls: [], runs: [] });
    expect(await ledgerOf(runId)).toEqual(before);
    expect(await tell(workspaceId, ended)).toMatchObject({ calls: [{ runId, seq: 0, end: 'busy' }] });
    expect(await ledgerOf(runId)).not.toEqual(before);
  });

  test('settle no recipient whose call ended in doubt', async () => {
    const { runId } = await acceptedRun('voice', 1);
    await openCall(db, { runId, seq: 0, attempt: 1 });
    await sql`update calls set ended_at = now(), outcome = 'unknown' where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = 'unknown' where run_id = ${runId}`.execute(db);
    const before = await ledgerOf(runId);
    const [uid] = uidsOf(runId, 'voice', 1, 1) as [string];
    await tell(intruder, event(uid, 'voice', 'delivered', 'completed'));
    expect(await ledgerOf(runId)).toEqual(before);
  });

  test('give back no place under a cap, of one workspace or the other', async () => {
    const { runId, workspaceId } = await acceptedRun('sms', 1);
    const [uid] = uidsOf(runId, 'sms', 1) as [string];
    const { rows } = await sql<{ address: string }>`
      select address from recipients where run_id = ${runId}`.execute(db);
    const address = rows[0]?.address ?? '';
    const caps = [{ channels: ['sms' as const], max: 1, days: 1 }];
    // The intruder's own message under the same uid, to the same address.
    for (const one of [workspaceId, intruder])
      await reserveContacts(db, { workspaceId: one, channel: 'sms', caps }, [{ uid, address }]);
    const used = () =>
      sql`select workspace_id, uids from contact_uses where workspace_id in (${workspaceId}, ${intruder})
        order by workspace_id`.execute(db);
    const before = (await used()).rows;
    await tell(intruder, event(uid, 'sms', 'canceled'));
    expect((await used()).rows).toEqual(before);
    await tell(workspaceId, event(uid, 'sms', 'canceled'));
    expect((await used()).rows).not.toEqual(before);
  });
});
