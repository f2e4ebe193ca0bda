import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../../../src/domain/limits';
import type { MessagingTables } from '../../../../src/messaging/model/tables';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { createOutboxRig, type OutboxRig } from '../../outbox-rig';

const RATE = { channel: 'sms' as const, sender: '12345' };

describeWithDatabase('messages that wait in the table', (database) => {
  let rig: OutboxRig;
  beforeEach(async () => {
    rig = await createOutboxRig(await database.open());
  });
  afterEach(() => rig.stop());

  const setRate = (rate: number) =>
    rig.db
      .insertInto('sender_limits')
      .values({ workspace_id: rig.workspaceId, ...RATE, rate })
      .onConflict((known) =>
        known.columns(['workspace_id', 'channel', 'sender']).doUpdateSet({ rate, updated_at: new Date() }),
      )
      .execute();

  const many = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => rig.sms(`${name}${i}`, { campaign: 'c1' }));

  test('are found also if the table was read after their time and before they were committed', async () => {
    await setRate(1);
    const { delivery } = await rig.process();
    await delivery.acceptMany(rig.workspaceId, many('early', 5));
    const late = await whileAcceptanceIsLocked(async () => {
      const accepted = delivery.acceptMany(rig.workspaceId, many('late', 60));
      await until('the insert waits', () => hasWaiting(rig.db), 5_000, 20);
      // Whatever is released, the table is read.
      await delivery.release(rig.workspaceId, 'c2');
      await delay(5 * LIMITS.dueReadMs);
      return { accepted };
    });
    expect((await late.accepted).every(({ ok }) => ok)).toBe(true);
    await setRate(1_000);
    // Sooner than all flows are looked up again.
    await until(
      'all are sent',
      async () => Object.values(await rig.states()).filter((state) => state === 'sent').length === 65,
      LIMITS.dueLookUpMs / 2,
    );
  });

  /** Accepting needs the workspace's place in the event log. */
  async function whileAcceptanceIsLocked<T>(work: () => Promise<T>): Promise<T> {
    return rig.db.transaction().execute(async (locked) => {
      await locked
        .selectFrom('event_heads')
        .select('next_seq')
        .where('workspace_id', '=', rig.workspaceId)
        .forUpdate()
        .execute();
      return work();
    });
  }
});

async function hasWaiting(db: Kysely<MessagingTables>): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into messages%'`.execute(
    db,
  );
  return rows.length > 0;
}
