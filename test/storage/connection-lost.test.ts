import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { openStorage, type Storage } from '../../src/storage/storage';
import { type Line, openLine } from '../support/line';
import { describeOnPostgres } from '../support/storage';

describeOnPostgres('a database that is not there', (engine) => {
  test('is told apart from a server that does not answer, with what to do', async () => {
    const place = await engine.place({ migrated: false });
    const url = new URL(place.databaseUrl ?? '');
    url.pathname = '/fanfare_absent';
    const opening = openStorage({ ...place, databaseUrl: url.href });
    await expect(opening).rejects.toThrow(/refuses us: .*fanfare_absent/);
    await expect(opening).rejects.toMatchObject({
      mayPass: false,
      wayOut: expect.stringContaining('Create the database'),
    });
  });
});

describeOnPostgres('a connection to PostgreSQL that is lost', (engine) => {
  let line: Line;
  let storage: Storage;

  beforeAll(async () => {
    const place = await engine.place({ migrated: true });
    const url = new URL(place.databaseUrl ?? '');
    const port = Number(url.port);
    line = await openLine(() => port);
    url.port = String(line.port);
    storage = await openStorage({ ...place, databaseUrl: url.href, poolSize: 1 });
  });
  afterAll(async () => {
    line.mend();
    await storage.close();
    line.close();
  });

  test('between two statements of a transaction fails the transaction, not the process', async () => {
    const db = storage.tables();
    const work = db.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx);
      line.cut();
      // Long enough for the loss to be noticed while nothing is asked of the connection.
      await delay(100);
      await sql`select 2`.execute(tx);
    });
    await expect(work).rejects.toThrow();
    line.mend();
    expect((await sql`select 3 as three`.execute(db)).rows).toEqual([{ three: 3 }]);
  });
});
