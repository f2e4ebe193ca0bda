/** Proves that lost connections fail their query, and neither the process nor other work. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { isUnavailable } from '../../src/messaging/model/database-error';
import { lookAtPostgres } from '../../src/storage/look-at-postgres';
import { openStorage, type Storage } from '../../src/storage/storage';
import { startFakePooler } from '../support/fake-pooler';
import { type Line, openLine } from '../support/line';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('a database that is not there', (database) => {
  test('is reported apart from a server that does not answer, with the remedy', async () => {
    const place = await database.place({ migrated: false });
    const url = new URL(place.databaseUrl);
    url.pathname = '/fanfare_absent';
    const opening = openStorage({ ...place, databaseUrl: url.href });
    await expect(opening).rejects.toThrow(/refuses us: .*fanfare_absent/);
    await expect(opening).rejects.toMatchObject({
      mayPass: false,
      wayOut: expect.stringContaining('Create the database'),
    });
  });
});

describe('a pooler', () => {
  const opened = async (message: string) => {
    const pooler = await startFakePooler(message);
    const databaseUrl = pooler.url;
    const failures = await Promise.all([
      openStorage({ databaseUrl }).catch((error: unknown) => error),
      lookAtPostgres(databaseUrl).catch((error: unknown) => error),
    ]);
    pooler.stop();
    return failures;
  };

  test.each([
    'server login has been failing, try again later',
    'query_wait_timeout',
    'no more connections allowed',
  ])('that says "%s" may let us in later', async (message) => {
    for (const failure of await opened(message)) expect(failure).toMatchObject({ mayPass: true });
  });

  test('that refuses the settings of connections will not, and what to do is said', async () => {
    for (const failure of await opened('unsupported startup parameter: options')) {
      expect(failure).toMatchObject({
        message: expect.stringContaining('refuses us'),
        mayPass: false,
        wayOut: expect.stringContaining('ignore_startup_parameters = options'),
      });
    }
  });

  test('that does not know the user will not', async () => {
    for (const failure of await opened('no such user: me')) expect(failure).toMatchObject({ mayPass: false });
  });
});

describeWithDatabase('a connection to PostgreSQL that is lost', (database) => {
  let line: Line;
  let storage: Storage;

  beforeAll(async () => {
    const place = await database.place({ migrated: true });
    const url = new URL(place.databaseUrl);
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

describeWithDatabase('a connection to a server that has become read-only', (database) => {
  test('is replaced, so that the next statement reaches one that can be written to', async () => {
    const db = (await database.open({ poolSize: 1 })).tables();
    const write = () => sql`insert into written values (1)`.execute(db);
    await sql`create table written (id int)`.execute(db);
    // As after a failover: the connection to the earlier primary stays open, and a new one leads to the new primary.
    await sql`set session characteristics as transaction read only`.execute(db);
    const failure = await write().catch((error: unknown) => error);
    expect([isUnavailable(failure), String(failure)]).toEqual([
      true,
      expect.stringContaining('read-only transaction'),
    ]);
    await write();
  });
});

describeWithDatabase(
  'a prepared statement whose columns a migration of a newer build changed',
  (database) => {
    let db: Kysely<unknown>;
    beforeEach(async () => {
      db = (await database.open({ poolSize: 1 })).tables();
      await sql`create table changed as select 1 as id`.execute(db);
      for (let uses = 0; uses < 5; uses++) await read(db);
      await sql`alter table changed add more text`.execute(db);
    });
    const read = async (on: Kysely<unknown>) => (await sql`select * from changed`.execute(on)).rows;

    test('answers as before', async () => {
      expect(await read(db)).toEqual([{ id: 1, more: null }]);
    });

    test('fails its transaction as a moment without the database does, and works in the next', async () => {
      const inTransaction = () => db.transaction().execute(read);
      expect(isUnavailable(await inTransaction().catch((error: unknown) => error))).toBe(true);
      expect(await inTransaction()).toEqual([{ id: 1, more: null }]);
    });
  },
);

describeWithDatabase('a connection to PostgreSQL on which nothing comes any more', (database) => {
  let line: Line;
  let storage: Storage;

  beforeEach(async () => {
    const place = await database.place({ migrated: true });
    const url = new URL(place.databaseUrl);
    const port = Number(url.port);
    line = await openLine(() => port);
    url.port = String(line.port);
    storage = await openStorage({ ...place, databaseUrl: url.href, poolSize: 1, answerMs: 500 });
  });
  afterEach(async () => {
    line.mend();
    await storage.close();
    line.close();
  });

  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error) => error,
    );

  test('is given up, and the work goes on on another', async () => {
    const db = storage.tables();
    line.swallow('present');
    const failure = await failureOf(sql`select 1`.execute(db));
    expect([isUnavailable(failure), String(failure)]).toEqual([
      true,
      expect.stringMatching('does not answer'),
    ]);
    expect((await sql`select 2 as two`.execute(db)).rows).toEqual([{ two: 2 }]);
  });

  test('fails its transaction as a whole', async () => {
    const db = storage.tables();
    const work = db.transaction().execute(async (tx) => {
      await sql`create table half_done (id int)`.execute(tx);
      line.swallow('present');
      await sql`select 1`.execute(tx);
    });
    expect(isUnavailable(await failureOf(work))).toBe(true);
    const { rows } = await sql`select to_regclass('half_done') as half`.execute(db);
    expect(rows).toEqual([{ half: null }]);
  });

  test('is given up as well when no other can be had, until one can', async () => {
    const db = storage.tables();
    line.swallow('all');
    expect(isUnavailable(await failureOf(sql`select 1`.execute(db)))).toBe(true);
    line.mend();
    expect((await sql`select 2 as two`.execute(db)).rows).toEqual([{ two: 2 }]);
  });

  test('is distinguished from one whose statement takes long, or waits for a lock', async () => {
    const db = storage.tables();
    const { rows } = await sql`select 1 as one from pg_sleep(2)`.execute(db);
    expect(rows).toEqual([{ one: 1 }]);
  });
});

describeWithDatabase('a process that stands still inside a transaction', (database) => {
  test('loses the transaction, so that others can continue, and gets an error when it continues itself', async () => {
    const place = await database.place({ migrated: true });
    const still = await openStorage({ ...place, idleInTransactionMs: 500 });
    const other = await openStorage(place);
    try {
      await sql`create table heads (id int, seq int)`.execute(other.tables());
      await sql`insert into heads values (1, 1)`.execute(other.tables());
      let goOn: () => void = () => undefined;
      const stands = new Promise<void>((done) => {
        goOn = done;
      });
      let locked: () => void = () => undefined;
      const hasLock = new Promise<void>((done) => {
        locked = done;
      });
      const work = still
        .tables()
        .transaction()
        .execute(async (tx) => {
          await sql`update heads set seq = seq + 10`.execute(tx);
          locked();
          await stands;
          await sql`update heads set seq = seq + 100`.execute(tx);
        })
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      await hasLock;
      await sql`update heads set seq = seq + 1`.execute(other.tables());
      goOn();
      expect(isUnavailable(await work)).toBe(true);
      await sql`update heads set seq = seq + 1000`.execute(still.tables());
      expect((await sql`select seq from heads`.execute(other.tables())).rows).toEqual([{ seq: 1_002 }]);
    } finally {
      await still.close();
      await other.close();
    }
  });

  test('keeps its connection while statements come or take long', async () => {
    const place = await database.place({ migrated: true });
    const storage = await openStorage({ ...place, idleInTransactionMs: 300 });
    const work = storage
      .tables()
      .transaction()
      .execute((tx) => sql`select 1 as one from pg_sleep(1)`.execute(tx));
    expect((await work).rows).toEqual([{ one: 1 }]);
    await storage.close();
  });
});

test('that PostgreSQL ended a silent transaction counts as its being away for the moment', () => {
  expect(isUnavailable(Object.assign(new Error('terminating connection'), { code: '25P03' }))).toBe(true);
});
