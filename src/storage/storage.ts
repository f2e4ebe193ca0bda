import { type DatabaseIntrospector, Kysely, PostgresDialect, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { isSmall } from './database-size';
import { type GradualUpdates, type OnUpdate, updateGradually } from './gradual-updates';
import type { OnLost } from './lasting-work';
import { gradualUpdates, migrateToLatest, type OnNewer, onlineIndexes } from './migrate';
import {
  buildIndexes,
  type OnIndex,
  type OnlineIndexes,
  type RetiredIndexes,
  retireIndexes,
} from './online-indexes';
import { createPostgresPool, isConnectionLoss, isRefusal, noAnswer, openPostgresPool } from './postgres';
import { requireWrites } from './require-writes';

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
  /** Connections of both pools together. */
  connections(): Connections;
  /**
   * Settles when every index stands and older rows have what newer columns ask for; both happen to a large database while
   * it is used.
   */
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
  /** How often is looked whether indexes of an earlier build may go. Shorter in tests. */
  retiredLookMs?: number | undefined;
  /** Ends the opening before it is done. What was changed until then stays, and the next opening goes on. */
  signal?: AbortSignal | undefined;
  onIndex?: OnIndex | undefined;
  onUpdate?: OnUpdate | undefined;
  onNewer?: OnNewer | undefined;
  /** Building indexes or filling columns was interrupted, and begins anew. */
  onLost?: OnLost | undefined;
}

/**
 * Opens the database and brings its schema up to date. Safe to run from many processes at once. Fails with a
 * StartupError when the server is unreachable or refuses us.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const pool = await openPostgresPool(options.databaseUrl, { ...options, size: options.poolSize });
  const kysely = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool }) });
  let updates: GradualUpdates;
  let indexes: OnlineIndexes;
  let retiring: RetiredIndexes;
  try {
    await requireWrites(kysely);
    await migrateToLatest(kysely, options.onNewer, options.signal);
    const small = await isSmall(kysely);
    updates = await updateGradually(kysely, gradualUpdates(), options.onUpdate, options.onLost);
    if (small) await updates.done;
    indexes = await buildIndexes(kysely, onlineIndexes(), options.onIndex, options.onLost);
    retiring = retireIndexes(kysely, Promise.all([updates.done, indexes.done]), options.retiredLookMs);
    if (small) await retiring.looked;
  } catch (error) {
    await kysely.destroy();
    throw isConnectionLoss(error) || isRefusal(error) ? noAnswer(error) : error;
  }
  const whole = Promise.all([updates.done, indexes.done]).then(() => undefined);
  whole.catch(() => undefined);
  const requestPool = createPostgresPool(options.databaseUrl, {
    ...options,
    size: options.poolSize ?? LIMITS.databaseRequestConnections,
  });
  const requests = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool: requestPool }) });
  return {
    ...tablesOf(kysely),
    forRequests: tablesOf(requests),
    connections: () => sum(pool.connections(), requestPool.connections()),
    indexes: whole,
    close: async () => {
      await Promise.all([updates.stop(), indexes.stop(), retiring.stop()]);
      await Promise.all([kysely.destroy(), requests.destroy()]);
    },
  };
}

const tablesOf = (kysely: Kysely<unknown>): Tables => ({
  tables: <Tables>() => kysely as unknown as Kysely<Tables>,
});

const sum = (one: Connections, other: Connections): Connections => ({
  open: one.open + other.open,
  idle: one.idle + other.idle,
  waiting: one.waiting + other.waiting,
});

/**
 * Lists the schemas and tables that a migration needs to know. Kysely's own query reads the columns of every
 * table in the database, and fails when one of them is dropped meanwhile. This one reads only the names in our
 * schemas.
 */
class OwnTablesDialect extends PostgresDialect {
  // biome-ignore lint/suspicious/noExplicitAny: the tables do not matter, as the class that is extended says.
  override createIntrospector(db: Kysely<any>): DatabaseIntrospector {
    const getTables = async () => {
      const { rows } = await sql<{ schema: string; name: string }>`
        select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname = any(current_schemas(false))`.execute(db);
      return rows.map((row) => ({ ...row, isView: false, columns: [] }));
    };
    return {
      getSchemas: async () =>
        (await sql<{ name: string }>`select nspname as name from pg_namespace`.execute(db)).rows,
      getTables,
      getMetadata: async () => ({ tables: await getTables() }),
    };
  }
}
