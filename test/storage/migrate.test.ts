/** Proves that migrations bring every older schema up to date, once. */

import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { MIGRATIONS, migrateToLatest } from '../../src/storage/migrate';
import { openStorage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

/** The advisory lock under which Kysely migrates. */
const KYSELY_LOCK = sql.raw('3853314791062309107');

describeWithDatabase('migrations', (database) => {
  test('an empty database gets the schema, and opening it again changes nothing', async () => {
    const place = await database.place();
    const first = await openStorage(place);
    await sql`insert into workspaces (id, name) values ('w', 'kept')`.execute(first.tables());
    await first.close();

    const second = await openStorage(place);
    const { rows } = await sql`select name from workspaces`.execute(second.tables());
    await second.close();
    expect(rows).toEqual([{ name: 'kept' }]);
  });

  test('migrating again, many times at once, changes nothing', async () => {
    const place = await database.place({ migrated: true });
    const storage = await openStorage(place);
    await Promise.all(Array.from({ length: 8 }, () => migrateToLatest(storage.tables())));
    const { rows } = await sql`select count(*) as count from kysely_migration`.execute(storage.tables());
    await storage.close();
    expect(rows).toEqual([{ count: Object.keys(MIGRATIONS).length }]);
  });

  test('days on which mailboxes were full count as before, each as a message of its own', async () => {
    const place = await database.place();
    const before = await openEarlier(place, '0009');
    await sql`
      insert into soft_bounces (workspace_id, address, day)
      values ('w', 'a@example.com', '2026-03-01'), ('w', 'a@example.com', '2026-03-02')
    `.execute(before.tables());
    await before.close();

    const after = await openStorage(place);
    const { rows } = await sql`
      select message_id from soft_bounces where address = 'a@example.com' order by day
    `.execute(after.tables());
    await after.close();
    expect(rows).toEqual([{ message_id: '2026-03-01' }, { message_id: '2026-03-02' }]);
  });

  test('a process of an earlier build starts again beside a schema that a newer one has made', async () => {
    const all = { ...MIGRATIONS };
    const place = await database.place({ migrated: true });
    const last = Object.keys(all).sort().slice(-2);
    for (const name of last) delete MIGRATIONS[name];
    let newer: readonly string[] = [];
    const earlier = await openStorage({
      ...place,
      onNewer: (migrations) => {
        newer = migrations;
      },
    });
    const { rows } = await sql`select count(*)::int as count from kysely_migration`.execute(earlier.tables());
    await earlier.close();
    Object.assign(MIGRATIONS, all);
    expect(rows).toEqual([{ count: Object.keys(all).length }]);
    expect([...newer].sort()).toEqual(last);
  });

  test('a process of an earlier build that waits while a newer one migrates goes on beside it', async () => {
    const place = await database.place({ migrated: true });
    const [storage, newerBuild] = [await openStorage(place), await openStorage(place)];
    const found: string[][] = [];
    await newerBuild
      .tables<unknown>()
      .connection()
      .execute(async (db) => {
        await sql`select pg_advisory_lock(${KYSELY_LOCK})`.execute(db);
        const earlier = migrateToLatest(storage.tables(), (names) => void found.push([...names]));
        await until('the earlier build waits', async () => {
          const { rows } = await sql`
            select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`.execute(
            db,
          );
          return rows.length > 0;
        });
        await sql`insert into kysely_migration values ('9998-newer', now())`.execute(db);
        await sql`select pg_advisory_unlock(${KYSELY_LOCK})`.execute(db);
        await earlier;
      });
    await Promise.all([storage.close(), newerBuild.close()]);
    expect(found).toEqual([['9998-newer']]);
  });

  test('a migration that comes after one with a higher number is made up for', async () => {
    const place = await database.place({ migrated: true });
    const before = await openStorage(place);
    await sql`drop table workspace_stops`.execute(before.tables());
    await sql`delete from kysely_migration where name = '0051-workspace-stops'`.execute(before.tables());
    await before.close();
    const after = await openStorage(place);
    const { rows } = await sql`select * from workspace_stops`.execute(after.tables());
    await after.close();
    expect(rows).toEqual([]);
  });

  test('a migration that traffic has locked against it is tried again', async () => {
    const place = await database.place({ migrated: true });
    const [storage, beside] = [await openStorage(place), await openStorage(place)];
    MIGRATIONS['9999-two-tables'] =
      'alter table contacts add one int;\nalter table contact_lists add two int;\n';
    try {
      let migrating: Promise<void> | undefined;
      await beside
        .tables<unknown>()
        .transaction()
        .execute(async (tx) => {
          await sql`lock table contact_lists in row exclusive mode`.execute(tx);
          migrating = migrateToLatest(storage.tables());
          migrating.catch(() => undefined);
          // In the database: a second after it began to wait, the migration would no longer be the one that is ended.
          await sql`do $$ begin
            for i in 1..3000 loop
              exit when exists (
                select from pg_locks where relation = 'contact_lists'::regclass and not granted);
              perform pg_sleep(0.01);
            end loop;
            lock table contacts in row exclusive mode;
          end $$`.execute(tx);
        });
      await migrating;
      await sql`select one, two from contacts, contact_lists`.execute(storage.tables());
    } finally {
      delete MIGRATIONS['9999-two-tables'];
      await Promise.all([storage.close(), beside.close()]);
    }
  });

  test('a stop ends a long statement, or the wait for another process that migrates, and the next start goes on', async () => {
    const place = await database.place({ migrated: true });
    const watching = await openStorage(place);
    const inHand = async () => {
      const { rows } = await sql<{ event: string }>`
        select wait_event_type || ' ' || wait_event as event from pg_stat_activity
        where datname = current_database() and state = 'active' and wait_event_type in ('Lock', 'Timeout')
        order by 1`.execute(watching.tables());
      return rows.map(({ event }) => event).join();
    };
    MIGRATIONS['9999-long'] = 'create table long ();\nselect pg_sleep(20);\n';
    const stop = new AbortController();
    try {
      const migrates = openStorage({ ...place, signal: stop.signal }).catch((error: Error) => error.name);
      await until('the statement runs', async () => (await inHand()) === 'Timeout PgSleep');
      const waits = openStorage({ ...place, signal: stop.signal }).catch((error: Error) => error.name);
      await until('the other process waits', async () => (await inHand()).startsWith('Lock advisory'));
      const stoppedAt = performance.now();
      stop.abort();
      expect(await Promise.all([migrates, waits])).toEqual(['AbortError', 'AbortError']);
      expect(performance.now() - stoppedAt).toBeLessThan(5_000);
      expect(await inHand()).toBe('');
      MIGRATIONS['9999-long'] = 'create table long ();\n';
      await (await openStorage(place)).close();
      await sql`select from long`.execute(watching.tables());
    } finally {
      delete MIGRATIONS['9999-long'];
      await watching.close();
    }
  });

  test('many that open an empty database at once all find it migrated', async () => {
    const place = await database.place();
    const opened = await Promise.all(Array.from({ length: 8 }, () => openStorage({ ...place, poolSize: 2 })));
    await Promise.all(opened.map((storage) => storage.close()));
  });

  test('tables of other schemas that are dropped meanwhile, and the schemas, do not matter', async () => {
    const place = await database.place({ migrated: true });
    const [storage, beside] = [await openStorage(place), await openStorage(place)];
    await sql`create schema other`.execute(beside.tables());
    let opened = false;
    const dropping = (async () => {
      for (let i = 0; !opened; i++) {
        const tables = Array.from({ length: 20 }, (_, n) => `other.dropped_${i}_${n}`);
        for (const name of tables) await sql.raw(`create table ${name} (id int)`).execute(beside.tables());
        await sql.raw(`drop table ${tables.join()}`).execute(beside.tables());
        await sql`create schema dropped_schema create table its_own (id int)`.execute(beside.tables());
        await sql`drop schema dropped_schema cascade`.execute(beside.tables());
        await delay(20);
      }
    })();
    for (let i = 0; i < 60; i++) await migrateToLatest(storage.tables());
    opened = true;
    await dropping;
    await Promise.all([storage.close(), beside.close()]);
  });
});
