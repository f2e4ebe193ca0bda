/** Proves that rows from before a column get its value in steps, and rows that are written meanwhile by themselves. */

import { sql } from 'kysely';
import { updateGradually } from '../../src/storage/gradual-updates';
import { gradualUpdates } from '../../src/storage/migrate';
import { openStorage, type Storage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const RECIPIENT = `insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state)
  select 'run', 'sms', n, 0, 'c', 'a', '{}', now(), case when n % 2 = 0 then 'waiting' else 'pending' end
  from generate_series(1, 10) n`;
const MESSAGE = `insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class,
    payload_hash, state, due_at, lane, accepted_seq)
  select 'm' || n, 'w', 'u' || n, 'sms', 'a', 'b', '{}', 'marketing', '', case when n < 5 then 'accepted' else 'failed' end,
    case when n < 5 then now() end, 'l', n from generate_series(1, 10) n`;

describeWithDatabase('columns of rows that are older', (database) => {
  let storage: Storage;
  const query = async <Row>(text: string) => (await sql.raw(text).execute(storage.tables())).rows as Row[];

  async function fromTheFirstVersion(): Promise<{ databaseUrl: string }> {
    const place = await database.place();
    storage = await openEarlier(place, '0002');
    await query(RECIPIENT);
    await query(MESSAGE);
    await storage.close();
    return place;
  }

  const counts = async () => {
    const [found] = await query<Record<string, number>>(
      `select (select count(*)::int from recipients where waits) as waiting,
        (select count(*)::int from messages where flow <> 0) as flows,
        (select count(*)::int from messages where ended = 'failed') as ended`,
    );
    return found;
  };

  test('are filled before a small database is used, and kept by every writer', async () => {
    storage = await openStorage(await fromTheFirstVersion());
    expect(await counts()).toEqual({ waiting: 5, flows: 4, ended: 6 });

    // As a version before the column writes.
    await query("update recipients set state = 'waiting' where seq = 1");
    await query("update recipients set state = 'accepted' where seq = 2");
    await query("update messages set state = 'rejected' where id = 'm1'");
    expect(await query('select seq from recipients where waits order by seq')).toEqual(
      [1, 4, 6, 8, 10].map((seq) => ({ seq })),
    );
    expect(await query("select ended from messages where id in ('m1', 'm2') order by id")).toEqual([
      { ended: 'rejected' },
      { ended: null },
    ]);
    await storage.close();
  });

  test('are filled once; an interrupted walk goes on at the next start', async () => {
    const place = await fromTheFirstVersion();
    storage = await openStorage(place);
    const done = await query<{ name: string }>('select name from gradual_updates order by name');
    expect(done).toEqual(
      gradualUpdates()
        .map(({ name }) => ({ name }))
        .sort((a, b) => a.name.localeCompare(b.name)),
    );
    // As a process leaves it that was killed in the middle; the trigger sets what it is not asked for.
    await query("delete from gradual_updates where name = 'messages.flow'");
    await query("update messages set flow = 0 where id = 'm3'");
    await storage.close();
    const told: string[] = [];
    storage = await openStorage({ ...place, onUpdate: ({ name }) => told.push(name) });
    expect(await counts()).toMatchObject({ flows: 4 });
    expect(new Set(told)).toEqual(new Set(['messages.flow']));
    await storage.close();
  });

  test('are filled on when the connection of the walk was lost, without a restart', async () => {
    const place = await fromTheFirstVersion();
    storage = await openStorage(place);
    const beside = await openStorage({ ...place, poolSize: 1 });
    await query("delete from gradual_updates where name = 'messages.flow'");
    await query("update messages set flow = 0 where id = 'm3'");
    const lost: unknown[] = [];
    try {
      // As another process does that works on the same.
      const walk = await storage
        .tables<unknown>()
        .connection()
        .execute(async (other) => {
          await sql`select pg_advisory_lock(5209331847006271)`.execute(other);
          const started = await updateGradually(beside.tables(), gradualUpdates(), undefined, (error) =>
            lost.push(error),
          );
          const { rows } = await until('the walk waits', async () => {
            const ended = await sql`select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and query like '%pg_try_advisory_lock%'
                and pid <> pg_backend_pid()`.execute(other);
            return ended.rows.length > 0 && ended;
          });
          expect(rows).toHaveLength(1);
          await until('the loss is noticed', async () => lost.length > 0);
          await sql`select pg_advisory_unlock(5209331847006271)`.execute(other);
          return started;
        });
      await walk.done;
      expect(await counts()).toMatchObject({ flows: 4 });
    } finally {
      await Promise.all([storage.close(), beside.close()]);
    }
  });

  test('of a database that began with them are the database’s own work', async () => {
    storage = await openStorage(await database.place({ migrated: true }));
    const generated = await query<{ name: string }>(
      "select attname as name from pg_attribute where attgenerated <> '' order by attname",
    );
    expect(generated).toEqual([{ name: 'ended' }, { name: 'waits' }]);
    await storage.close();
  });
});
