import { Kysely, type PostgresDialectConfig } from 'kysely';
import type { StartupError } from '../startup-error';
import { openEmbeddedPool } from './embedded';
import { migrateToLatest } from './migrate';
import { OwnTablesDialect } from './own-tables';
import { isConnectionLoss, isRefusal, noAnswer, openPostgresPool } from './postgres';

/** What Kysely needs of a connection pool; both engines provide it, so all SQL is written once. */
export type ConnectionPool = Exclude<PostgresDialectConfig['pool'], (...args: never[]) => unknown>;

export interface Connections {
  open: number;
  idle: number;
  /** Who waits for one. */
  waiting: number;
}

export interface Storage {
  /** `embedded` is single-process: nothing else may open the same directory. */
  readonly engine: 'embedded' | 'postgres';
  /**
   * The database as one half of the program sees it. Messaging and campaigns each pass the tables they
   * own, so that a query across the line does not compile.
   */
  tables<Tables>(): Kysely<Tables>;
  /** Of the pool to PostgreSQL; the embedded engine has none. */
  connections(): Connections | undefined;
  close(): Promise<void>;
}

export interface StorageOptions {
  /** PostgreSQL connection string; without it the embedded engine keeps its files in `dataDir`. */
  databaseUrl?: string | undefined;
  dataDir: string;
  /** PostgreSQL schema to live in; tests give each test its own. */
  schema?: string | undefined;
  /** The embedded engine has failed and serves nobody any more: only a new process can open it again. */
  onLost?: ((error: StartupError) => void) | undefined;
  /** Connections per process to PostgreSQL. */
  poolSize?: number | undefined;
  /** PostgreSQL: how long a query may be without an answer before it is asked after, and a transaction without a
   * statement before it is ended. Shorter in tests. */
  answerMs?: number | undefined;
  idleInTransactionMs?: number | undefined;
}

/**
 * Opens the database and brings its schema up to date. Safe to run from many processes at once.
 * Fails with a StartupError when the directory is locked or damaged, or the server is unreachable.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const engine = options.databaseUrl ? 'postgres' : 'embedded';
  const pool: ConnectionPool & { connections?: () => Connections } = options.databaseUrl
    ? await openPostgresPool(options.databaseUrl, { ...options, size: options.poolSize })
    : await openEmbeddedPool(options.dataDir, options.onLost);
  const kysely = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool }) });
  try {
    await migrateToLatest(kysely, options.schema);
  } catch (error) {
    await kysely.destroy();
    throw engine === 'postgres' && (isConnectionLoss(error) || isRefusal(error)) ? noAnswer(error) : error;
  }
  return {
    engine,
    tables: <Tables>() => kysely as unknown as Kysely<Tables>,
    connections: () => pool.connections?.(),
    close: () => kysely.destroy(),
  };
}
