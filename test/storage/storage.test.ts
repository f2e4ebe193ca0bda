/** Proves what the database driver returns and accepts. */

import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';

interface Tables {
  probes: {
    id: string;
    tags: string[];
    data: unknown;
    total: number;
    ratio: number;
    open: boolean;
    at: Date;
    note: string | null;
  };
}

describeWithDatabase('storage', (database) => {
  let storage: Storage;
  beforeAll(async () => {
    storage = await database.open();
    await sql`
      create table probes (
        id text primary key, tags text[] not null default '{}', data jsonb, total int8 not null default 0,
        ratio float8, open boolean, at timestamptz, note text
      )`.execute(storage.tables());
  });
  beforeEach(async () => {
    await sql`delete from probes`.execute(storage.tables());
  });

  // The sixth time too: what comes again is prepared, and its values go another way.
  test.each([1, 2, 3, 4, 5, 6])(
    'every type that the tables use comes back as it went in, time %d',
    async () => {
      const db = storage.tables<Tables>();
      const row = {
        id: "o'neil \u{1f3ba} ✓",
        tags: ['a', 'with, comma', 'with "quote"', 'back\\slash', '{brace}', 'NULL', ''],
        data: { list: [1, { deep: null }], text: 'line\nbreak', flag: false },
        total: 2 ** 40 + 1,
        ratio: 0.1,
        open: true,
        at: new Date('2026-03-29T01:30:00.123Z'),
        note: null,
      };
      await db
        .insertInto('probes')
        .values({ ...row, data: JSON.stringify(row.data) })
        .execute();
      expect(await db.selectFrom('probes').selectAll().executeTakeFirstOrThrow()).toEqual(row);
    },
  );

  test('counts and sums are numbers, not text', async () => {
    const db = storage.tables<Tables>();
    await sql`insert into probes (id, total) values ('a', 3), ('b', 4)`.execute(db);
    const { rows } = await sql`select count(*) as count, max(total) as most from probes`.execute(db);
    expect(rows).toEqual([{ count: 2, most: 4 }]);
  });

  test('thousands of rows go in by one statement through arrays', async () => {
    const db = storage.tables<Tables>();
    const ids = Array.from({ length: 5_000 }, (_, i) => `p${i}`);
    const times = ids.map((_, i) => new Date(Date.UTC(2026, 0, 1) + i).toISOString());
    const json = ids.map((id) => JSON.stringify({ id }));
    const notes = ids.map((_, i) => (i % 2 === 0 ? null : 'odd'));
    await sql`
      insert into probes (id, data, total, at, note)
      select id, data::jsonb, total, at::timestamptz, note
      from unnest(${ids}::text[], ${json}::text[], ${ids.map((_, i) => i)}::int8[], ${times}::text[],
                  ${notes}::text[]) as t (id, data, total, at, note)`.execute(db);
    const last = await db
      .selectFrom('probes')
      .selectAll()
      .where('id', '=', 'p4999')
      .executeTakeFirstOrThrow();
    expect(last).toMatchObject({ data: { id: 'p4999' }, total: 4_999, note: 'odd' });
    expect(last.at).toEqual(new Date(Date.UTC(2026, 0, 1) + 4_999));
    const { rows } = await sql`select count(*) as count, count(note) as noted from probes`.execute(db);
    expect(rows).toEqual([{ count: 5_000, noted: 2_500 }]);
  });

  test('an update says how many rows it changed', async () => {
    const db = storage.tables<Tables>();
    await sql`insert into probes (id) values ('a'), ('b'), ('c')`.execute(db);
    const result = await sql`update probes set note = 'x' where id <> 'b'`.execute(db);
    expect(result.numAffectedRows).toBe(2n);
  });

  test('a transaction that throws leaves nothing behind', async () => {
    const db = storage.tables<Tables>();
    const attempt = db.transaction().execute(async (trx) => {
      await sql`insert into probes (id) values ('lost')`.execute(trx);
      throw new Error('on purpose');
    });
    await expect(attempt).rejects.toThrow('on purpose');
    expect(await db.selectFrom('probes').select('id').execute()).toEqual([]);
  });

  test('a refused statement inside a transaction undoes the ones before it', async () => {
    const db = storage.tables<Tables>();
    const attempt = db.transaction().execute(async (trx) => {
      await sql`insert into probes (id) values ('same')`.execute(trx);
      await sql`insert into probes (id) values ('same')`.execute(trx);
    });
    await expect(attempt).rejects.toMatchObject({ code: '23505', constraint: 'probes_pkey' });
    expect(await db.selectFrom('probes').select('id').execute()).toEqual([]);
    await sql`insert into probes (id) values ('after')`.execute(db);
  });

  test('transactions that want the same row take turns', async () => {
    const db = storage.tables<Tables>();
    await sql`insert into probes (id) values ('counter')`.execute(db);
    const add = () =>
      db.transaction().execute(async (trx) => {
        const { total } = await trx
          .selectFrom('probes')
          .select('total')
          .where('id', '=', 'counter')
          .forUpdate()
          .executeTakeFirstOrThrow();
        await trx
          .updateTable('probes')
          .set({ total: total + 1 })
          .where('id', '=', 'counter')
          .execute();
      });
    await Promise.all(Array.from({ length: 20 }, add));
    expect(await db.selectFrom('probes').select('total').execute()).toEqual([{ total: 20 }]);
  });

  test('a statement that comes again is refused, and then taken, as the first time', async () => {
    const add = (id: string) => sql`insert into probes (id) values (${id})`.execute(storage.tables());
    for (const id of ['a', 'b', 'c', 'd', 'e']) await add(id);
    await expect(add('e')).rejects.toMatchObject({ code: '23505' });
    await add('f');
    const { rows } = await sql`select count(*) as count from probes`.execute(storage.tables());
    expect(rows).toEqual([{ count: 6 }]);
  });

  test('a statement that comes again works after the table has changed', async () => {
    const all = () => sql`select * from changing where id > ${'0'}`.execute(storage.tables());
    await sql`create table changing (id text)`.execute(storage.tables());
    await sql`insert into changing values ('1')`.execute(storage.tables());
    for (let time = 0; time < 6; time++) expect((await all()).rows).toEqual([{ id: '1' }]);
    await sql`alter table changing add column extra int default 2`.execute(storage.tables());
    // Once it may be refused: the caller's next attempt finds it prepared anew.
    const again = await all().catch(all);
    expect(again.rows).toEqual([{ id: '1', extra: 2 }]);
  });

  test('what others write while a transaction is open does not go away with it', async () => {
    const db = storage.tables<Tables>();
    const others: Promise<unknown>[] = [];
    const failing = db.transaction().execute(async (trx) => {
      await sql`insert into probes (id) values ('undone')`.execute(trx);
      for (const id of ['x', 'y']) others.push(sql`insert into probes (id) values (${id})`.execute(db));
      await sql`insert into probes (id) values ('undone too')`.execute(trx);
      throw new Error('never mind');
    });
    await expect(failing).rejects.toThrow('never mind');
    await Promise.all(others);
    expect(await db.selectFrom('probes').select('id').orderBy('id').execute()).toEqual([
      { id: 'x' },
      { id: 'y' },
    ]);
  });

  test('a reader outside a transaction never sees it half done', async () => {
    const db = storage.tables<Tables>();
    const seen: number[] = [];
    const write = db.transaction().execute(async (trx) => {
      await sql`insert into probes (id) values ('one')`.execute(trx);
      await sql`insert into probes (id) values ('two')`.execute(trx);
    });
    const look = async () => seen.push((await db.selectFrom('probes').select('id').execute()).length);
    await Promise.all([write, look(), look(), look()]);
    await look();
    expect(seen.at(-1)).toBe(2);
    expect(seen).not.toContain(1);
  });
});
