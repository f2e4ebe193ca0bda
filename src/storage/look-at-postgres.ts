import { Kysely, PostgresDialect } from 'kysely';
import { Client } from 'pg';
import { MIGRATIONS } from './migrate';
import { createPostgresPool, noAnswer, sessionOptions } from './postgres';

/** What can be read about a PostgreSQL database without changing it. */
export interface PostgresLook {
  /** As the server reports it, for example `15.14`. */
  version: string;
  /** `off` loses commits when the server is killed. */
  synchronousCommit: string;
  /** Why the server takes no changes, if it takes none. */
  readsOnly: 'it is a standby' | 'default_transaction_read_only is on' | undefined;
  /** Migrations of this program that the database has not had. */
  pending: string[];
  /** Migrations that this program does not know: the database belongs to a newer one. */
  unknown: string[];
  /** How far the server's clock is ahead of ours. */
  clockAheadMs: number;
}

const TIMEOUT_MS = 5_000;

/** Fails with a StartupError when no server answers. */
export async function lookAtPostgres(connectionString: string): Promise<PostgresLook> {
  const client = clientOf(connectionString);
  client.on('error', () => undefined);
  try {
    await client.connect();
    const askedAt = Date.now();
    const { rows } = await client.query<Server>(
      `select current_setting('server_version') as version, current_setting('synchronous_commit') as sync,
        pg_is_in_recovery() as standby, current_setting('transaction_read_only') as reads,
        clock_timestamp() as at, to_regclass('kysely_migration')::text as table`,
    );
    const [server] = rows;
    if (!server) throw new Error('no answer to a question');
    const between = (askedAt + Date.now()) / 2;
    const done = server.table
      ? await client.query<{ name: string }>('select name from kysely_migration')
      : undefined;
    const names = new Set(done?.rows.map(({ name }) => name));
    return {
      version: server.version,
      synchronousCommit: server.sync,
      readsOnly: readsOnly(server),
      pending: Object.keys(MIGRATIONS).filter((name) => !names.has(name)),
      unknown: [...names].filter((name) => !Object.hasOwn(MIGRATIONS, name)),
      clockAheadMs: Math.round(server.at.getTime() - between),
    };
  } catch (error) {
    throw noAnswer(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface Server {
  version: string;
  sync: string;
  standby: boolean;
  reads: string;
  at: Date;
  table: string | null;
}

function readsOnly({ standby, reads }: Server): PostgresLook['readsOnly'] {
  if (standby) return 'it is a standby';
  return reads === 'on' ? 'default_transaction_read_only is on' : undefined;
}

function clientOf(connectionString: string): Client {
  try {
    return new Client({
      connectionString,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      // As processes connect, so that what refuses them is found.
      options: sessionOptions(),
    });
  } catch (error) {
    // The driver reads the files of `sslrootcert` and others before it connects.
    throw noAnswer(error);
  }
}

/** Reads from a database as it is, whereas `openStorage` brings its schema up to date. */
export async function readWithoutMigrating<Tables, T>(
  connectionString: string,
  read: (db: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: createPostgresPool(connectionString, { size: 1 }) }),
  });
  try {
    return await read(db);
  } finally {
    await db.destroy();
  }
}
