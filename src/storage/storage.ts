import { Kysely } from 'kysely';
import { migrateToLatest } from './migrate';
import { OwnTablesDialect } from './own-tables';
import { isConnectionLoss, isRefusal, noAnswer, openPostgresPool } from './postgres';

export interface Connections {
  open: number;
  idle: number;
  /** Queries that wait for a connection. */
  waiting: number;
}

export interface Storage {
  /**
   * The database as one half of the program sees it. Messaging and campaigns each pass the tables they
   * own, so that a query across the line does not compile.
   */
  tables<Tables>(): Kysely<Tables>;
  /** Of the pool. */
  connections(): Connections;
  close(): Promise<void>;
}

export interface StorageOptions {
  /** PostgreSQL connection string. */
  databaseUrl: string;
  /** Connections of this process. */
  poolSize?: number | undefined;
  /** How long a query may be without an answer before the server is asked whether it still works on it, and how
   * long a transaction may be without a statement before the server ends it. Shorter in tests. */
  answerMs?: number | undefined;
  idleInTransactionMs?: number | undefined;
}

/**
 * Opens the database and brings its schema up to date. Safe to run from many processes at once.
 * Fails with a StartupError when the server is unreachable or refuses us.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const pool = await openPostgresPool(options.databaseUrl, { ...options, size: options.poolSize });
  const kysely = new Kysely<unknown>({ dialect: new OwnTablesDialect({ pool }) });
  try {
    await migrateToLatest(kysely);
  } catch (error) {
    await kysely.destroy();
    throw isConnectionLoss(error) || isRefusal(error) ? noAnswer(error) : error;
  }
  return {
    tables: <Tables>() => kysely as unknown as Kysely<Tables>,
    connections: () => pool.connections(),
    close: () => kysely.destroy(),
  };
}
