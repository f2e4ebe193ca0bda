/** Proves that statements which lock the same rows cannot deadlock, or are repeated. */

import { type Kysely, sql, type Transaction } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { beginRun } from '../../../src/campaigns/runs/runs';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { isUnavailable } from '../../../src/messaging/model/database-error';
import { newId } from '../../../src/storage/new-id';
import { plantAudience, plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

type Tx = Transaction<CampaignTables>;

describeWithDatabase('two who want what the other has', (database) => {
  let db: Kysely<CampaignTables>;
  beforeEach(async () => {
    db = (await database.open({ poolSize: 2 })).tables<CampaignTables>();
  });

  /** Until somebody waits for what the transaction has. */
  const somebodyWaits = (tx: Tx) =>
    until('somebody waits', async () => {
      await sql`select pg_stat_clear_snapshot()`.execute(tx);
      const { rows } = await sql`
        select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(tx);
      return rows.length > 0;
    });

  /** A second is the usual; on a busy machine the circle may not be closed by then. */
  async function lookForCirclesLate(): Promise<void> {
    let arrived = 0;
    const both = [1, 2].map(() =>
      db.transaction().execute(async (tx) => {
        await sql`set deadlock_timeout = '5s'`.execute(tx);
        arrived++;
        await until('the other connection is taken too', () => arrived === 2);
      }),
    );
    await Promise.all(both);
  }

  test('a run that begins takes its campaign first, as its owner does', async () => {
    const { runId, campaignId } = await plantRun(db, { contacts: 1 });
    await sql`update campaigns set stage = 'scheduled' where id = ${campaignId}`.execute(db);
    let begun: Promise<unknown> | undefined;
    await db.transaction().execute(async (tx) => {
      await sql`select from campaigns where id = ${campaignId} for update`.execute(tx);
      begun = beginRun(db, runId);
      await somebodyWaits(tx);
      await sql`select from runs where id = ${runId} for update nowait`.execute(tx);
    });
    expect(await begun).toBe(true);
  });

  test('outcomes are taken in once more when a retry that its owner asked for was in their way', async () => {
    const { runId, workspaceId } = await plantAudience(db, { contacts: 2 });
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    // One was retried, and failed again; he is about to be put back once more.
    await sql`update recipients set state = 'failed', attempt = 1, attempts = 2
      where run_id = ${runId} and seq = 0`.execute(db);
    await sql`insert into shard_counts values (${runId}, 'sms', 0, 'failed', 1)`.execute(db);
    const event = (seq: number, attempt: number, state: MessageState): MessageEvent => ({
      ...{ seq: seq + 1, at: new Date().toISOString(), id: newId('msg'), channel: 'sms', type: state, state },
      uid: messageUid({ runId, channel: 'sms', seq }, attempt),
    });
    const events = [event(1, 0, 'failed'), event(0, 1, 'delivered')];
    const cursor = await readCursor(db, workspaceId);
    await lookForCirclesLate();
    let taken: Promise<unknown> | undefined;
    await db.transaction().execute(async (tx) => {
      await sql`set local deadlock_timeout = '60s'`.execute(tx);
      await sql`select from recipients where run_id = ${runId} and seq = 0 for update`.execute(tx);
      taken = applyEvents(db, workspaceId, cursor, '2', events);
      await somebodyWaits(tx);
      await sql`update shard_counts set count = count where run_id = ${runId} and state = 'failed'`.execute(
        tx,
      );
    });
    expect(await taken).toMatchObject({ sends: [] });
    const { rows } = await sql<{ state: string }>`
      select state from recipients where run_id = ${runId} order by seq`.execute(db);
    expect(rows.map(({ state }) => state)).toEqual(['delivered', 'failed']);
  });

  test('the one that the database gives up may repeat its call', async () => {
    const [one, other] = [
      (await plantRun(db, { contacts: 1 })).runId,
      (await plantRun(db, { contacts: 1 })).runId,
    ];
    await lookForCirclesLate();
    const lock = (tx: Tx, runId: string) => sql`select from runs where id = ${runId} for update`.execute(tx);
    let crossing: Promise<unknown> | undefined;
    await db.transaction().execute(async (tx) => {
      await sql`set local deadlock_timeout = '60s'`.execute(tx);
      await lock(tx, one);
      crossing = db
        .transaction()
        .execute(async (crosswise) => {
          await lock(crosswise, other);
          await lock(crosswise, one);
        })
        .catch((error: unknown) => error);
      await somebodyWaits(tx);
      await lock(tx, other);
    });
    expect(isUnavailable(await crossing)).toBe(true);
  });
});
