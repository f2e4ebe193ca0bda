import { Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { migrateToLatest, onlineIndexes } from './migrate';
import { buildIndexes, type OnIndex, type OnlineIndexes } from './online-indexes';
import { OwnTablesDialect } from './own-tables';
import { createPostgresPool, isConnectionLoss, isRefusal, noAnswer, openPostgresPool } from './postgres';

export interface Connections {
  open: number;
  idle: number;
  /** Queries that wait for a connection. */
  waiting: number;
}

export interface Tables {
  /**
   * The database as one half of the program sees it. Messaging and campaigns each pass their own tables, so
   * that a query across the two does not compile.
   */
  tables<Tables>(): Kysely<Tables>;
}

export interface Storage extends Tables {
  /**
   * Separate connections for requests that a caller waits for, because pages, pieces of audiences and feeds
   * keep the others busy. While fourteen audiences of 150,000 were frozen at once, each statement of a request
   * waited 96 ms for a shared connection on average, and up to 307 ms.
   */
  forRequests: Tables;
  /** Of both pools together. */
  connections(): Connections;
  /** Settles when every index stands; those of a large database are built while it is used. */
  indexes: Promise<void>;
  close(): Promise<void>;
}

export interface StorageOptions {
  /** PostgreSQL connection string. */
  databaseUrl: string;
  /** Connections of this process. */
  poolSize?: number | undefined;
  /**
   * How long a query may be without an answer before the server is asked whether it still works on it. And how
   * long a transaction may be without a statement before the server ends it. Shorter in tests.
   */
  answerMs?: number | undefined;
  idleInTransactionMs?: number | undefined;
  onIndex?: OnIndex | undefined;
}

/**
 * Opens the database and brings its schema up to date. Safe to run from many processes at once. Fails with a
 * StartupError when the server is unreachable or refuses us.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const pool = await openPostgresPool(options.databaseUrl, { ...options, size: options.poolSize });
  const kysely = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool }) });
  let indexes: OnlineIndexes;
  try {
    await migrateToLatest(kysely);
    indexes = await buildIndexes(kysely, onlineIndexes(), options.onIndex);
    if (await isSmall(kysely)) await indexes.done;
  } catch (error) {
    await kysely.destroy();
    throw isConnectionLoss(error) || isRefusal(error) ? noAnswer(error) : error;
  }
  const requestPool = createPostgresPool(options.databaseUrl, {
    ...options,
    size: options.poolSize ?? LIMITS.databaseRequestConnections,
  });
  const requests = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool: requestPool }) });
  return {
    ...tablesOf(kysely),
    forRequests: tablesOf(requests),
    connections: () => sum(pool.connections(), requestPool.connections()),
    indexes: indexes.done,
    close: async () => {
      await indexes.stop();
      await Promise.all([kysely.destroy(), requests.destroy()]);
    },
  };
}

async function isSmall(kysely: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(pg_table_size(oid)), 0)::float8 as bytes from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace`.execute(kysely);
  return (rows[0]?.bytes ?? 0) < LIMITS.indexesAwaitedBytes;
}

const tablesOf = (kysely: Kysely<unknown>): Tables => ({
  tables: <Tables>() => kysely as unknown as Kysely<Tables>,
});

const sum = (one: Connections, other: Connections): Connections => ({
  open: one.open + other.open,
  idle: one.idle + other.idle,
  waiting: one.waiting + other.waiting,
});
