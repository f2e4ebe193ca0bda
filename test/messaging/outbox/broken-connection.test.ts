import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { type Line, openLine } from '../../support/line';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

/** The server goes on with a statement whose connection broke while it waited for a lock. */
describeWithDatabase('an outbox whose connection breaks in the middle of a statement', (database) => {
  let line: Line;
  let storage: Storage;
  let direct: Storage;
  let db: Kysely<MessagingTables>;
  let rig: OutboxRig;
  let one: TestProcess;
  let unlock: () => Promise<unknown> = async () => undefined;

  beforeAll(async () => {
    const place = await database.place({ migrated: true });
    const url = new URL(place.databaseUrl);
    const port = Number(url.port);
    line = await openLine(() => port);
    url.port = String(line.port);
    storage = await openStorage({ ...place, databaseUrl: url.href });
    direct = await openStorage({ ...place, poolSize: 2 });
    db = direct.tables<MessagingTables>();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
    await one.delivery.accept(rig.workspaceId, rig.sms('before'));
    await until('it is sent', async () => (await rig.states()).before === 'sent');
  });
  afterEach(async () => {
    await unlock();
    await rig.stop();
  });
  afterAll(async () => {
    line.mend();
    await storage.close();
    await direct.close();
    line.close();
  });

  /** Keeps rows locked until `unlock`. */
  async function lock(rows: ReturnType<typeof sql>): Promise<void> {
    const transaction = await db.startTransaction().execute();
    unlock = async () => {
      if (!transaction.isRolledBack) await transaction.rollback().execute();
    };
    await rows.execute(transaction);
  }

  async function waiting(words: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${words}%`}
    `.execute(db);
    return rows[0]?.count ?? 0;
  }

  test('leaves no batch behind when its opening comes late, and sends the message once', async () => {
    await lock(sql`select id from dispatch_lanes for no key update`);
    await one.delivery.accept(rig.workspaceId, rig.sms('m1'));
    await until('its batch is being opened', () => waiting('for share'));
    line.cut();
    line.mend();
    await until('the dispatcher goes on', async () => (await waiting('dispatch_lanes')) > 1);
    await unlock();
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    await until('no batch is open', async () => {
      return (await db.selectFrom('handover_batches').select('id').execute()).length === 0;
    });
    expect(one.sms.uids()).toEqual(['before', 'm1']);
  });

  test('finds a message that was written after all', async () => {
    const other = await createOutboxRig(storage);
    await one.delivery.accept(other.workspaceId, other.sms('before'));
    await lock(sql`select 1 from event_heads where workspace_id = ${rig.workspaceId} for update`);
    const accepting = one.delivery.accept(rig.workspaceId, rig.sms('m1'));
    const refused = expect(accepting).rejects.toMatchObject({ code: 'dependency_down' });
    await until('it is being written', () => waiting('insert into messages'));
    line.cut();
    await refused;
    line.mend();
    // Whoever looks in the table now does not see it.
    await until('the outbox goes on', () =>
      one.delivery.accept(other.workspaceId, other.sms('after')).then(
        () => true,
        () => false,
      ),
    );
    await until('another is sent', async () => (await other.states()).after === 'sent');
    expect((await rig.states()).m1).toBeUndefined();
    await unlock();
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    expect(one.sms.uids().filter((uid) => uid === 'm1')).toEqual(['m1']);
  });

  test('adopts a partition again whose adoption it did not hear of', async () => {
    const later = new Date(Date.now() + 86_400_000).toISOString();
    await one.delivery.accept(rig.workspaceId, rig.sms('m1', { sendAt: later }));
    await sql`insert into dispatch_lanes (id, owner, fence, lease_until)
      values ('gone', 'proc_gone', 1, now() + interval '2 seconds')`.execute(db);
    await sql`update messages set lane = 'gone', due_at = now() where uid = 'm1'`.execute(db);
    await lock(sql`select id from dispatch_lanes where id = 'gone' for update`);
    await until('it is being adopted', () => waiting('set fence = fence + 1'));
    line.cut();
    line.mend();
    await unlock();
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    expect(one.sms.uids().filter((uid) => uid === 'm1')).toEqual(['m1']);
  });
});
