import { sql } from 'kysely';
import { MIGRATIONS, migrateToLatest } from '../../src/storage/migrate';
import { openStorage } from '../../src/storage/storage';
import { describeEachEngine } from '../support/storage';

describeEachEngine('migrations', (engine) => {
  test('an empty database gets the schema, and opening it again changes nothing', async () => {
    const place = await engine.place();
    const first = await openStorage(place);
    await sql`insert into workspaces (id, name) values ('w', 'kept')`.execute(first.tables());
    await first.close();

    const second = await openStorage(place);
    const { rows } = await sql`select name from workspaces`.execute(second.tables());
    await second.close();
    expect(rows).toEqual([{ name: 'kept' }]);
  });

  test('migrating again, many times at once, changes nothing', async () => {
    const place = await engine.place({ migrated: true });
    const storage = await openStorage(place);
    await Promise.all(Array.from({ length: 8 }, () => migrateToLatest(storage.tables(), place.schema)));
    const { rows } = await sql`select count(*) as count from kysely_migration`.execute(storage.tables());
    await storage.close();
    expect(rows).toEqual([{ count: Object.keys(MIGRATIONS).length }]);
  });

  if (engine.name === 'postgres') {
    test('many that open an empty database at once all find it migrated', async () => {
      const place = await engine.place();
      const opened = await Promise.all(
        Array.from({ length: 8 }, () => openStorage({ ...place, poolSize: 2 })),
      );
      await Promise.all(opened.map((storage) => storage.close()));
    });
  }
});
