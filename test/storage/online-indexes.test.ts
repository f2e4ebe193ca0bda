/** Proves that indexes of large tables are built beside writers, by one process, and again after a kill. */

import { sql } from 'kysely';
import { onlineIndexes } from '../../src/storage/migrate';
import { buildIndexes } from '../../src/storage/online-indexes';
import type { Storage } from '../../src/storage/storage';
import { openStorage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const INDEXES = onlineIndexes();
const NAMES = [...INDEXES.matchAll(/^create index (\w+) on/gm)].map(([, name]) => name as string);

describeWithDatabase('indexes of large tables', (database) => {
  let storage: Storage;
  let beside: Storage;
  beforeEach(async () => {
    const place = await database.place({ migrated: true });
    storage = await openStorage(place);
    beside = await openStorage({ ...place, poolSize: 3 });
  });
  afterEach(() => Promise.all([storage.close(), beside.close()]));

  const db = () => storage.tables<unknown>();
  const standing = async () =>
    (
      await sql<{ name: string }>`
        select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid where i.indisvalid`.execute(
        db(),
      )
    ).rows.map(({ name }) => name);

  test('stand after a small database was opened', async () => {
    expect(NAMES.length).toBeGreaterThan(5);
    expect(await standing()).toEqual(expect.arrayContaining(NAMES));
  });

  test('are built while a table is written to, and leave the writer alone', async () => {
    await sql`drop index recipients_by_code`.execute(db());
    const built: string[] = [];
    await beside
      .tables<unknown>()
      .transaction()
      .execute(async (tx) => {
        await sql`insert into contact_lists (id, workspace_id, name) values ('l', 'w', 'x')`.execute(tx);
        await sql`lock table recipients in row exclusive mode`.execute(tx);
        const building = await buildIndexes(db(), INDEXES, ({ name }) => built.push(name));
        await until('the index is waited for', async () => built.length === 1);
        // Another writer is not held up by the one that waits.
        await sql`update recipients set code = null where run_id = 'none'`.execute(beside.tables());
        await building.stop();
      });
    const again = await buildIndexes(db(), INDEXES, ({ name }) => built.push(name));
    await again.done;
    expect(new Set(built)).toEqual(new Set(['recipients_by_code']));
    expect(await standing()).toContain('recipients_by_code');
  });

  test('are built once when several processes find them missing', async () => {
    await sql`drop index contacts_by_email`.execute(db());
    await sql`drop index contacts_by_workspace`.execute(db());
    const built: string[] = [];
    const all = await Promise.all(
      [storage, beside].map((one) => buildIndexes(one.tables(), INDEXES, ({ name }) => built.push(name))),
    );
    await Promise.all(all.map(({ done }) => done));
    expect(built.sort()).toEqual(['contacts_by_email', 'contacts_by_workspace']);
  });

  test('that a killed process left invalid are built again', async () => {
    await sql`update pg_index set indisvalid = false where indexrelid = 'recipients_by_code'::regclass`.execute(
      db(),
    );
    await (await buildIndexes(db(), INDEXES)).done;
    expect(await standing()).toContain('recipients_by_code');
  });
});
