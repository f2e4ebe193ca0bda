import type { PostgresDialectConfig } from 'kysely';
import { Pool, type QueryResult, types } from 'pg';
import { LIMITS } from '../domain/limits';
import { StartupError } from '../startup-error';
import { createPostgresWatch, type PostgresWatch } from './postgres-watch';
import { createStatementNames, isStale } from './statement-names';
import type { Connections } from './storage';
import { accompanied } from './with-first-change';

/** What Kysely needs of a connection pool. */
type ConnectionPool = Exclude<PostgresDialectConfig['pool'], (...args: never[]) => unknown>;

export type PostgresPool = ConnectionPool & { connections(): Connections };

/** int8 as number: no count or sequence of ours comes near 2^53. */
const INT8_OID = 20;
types.setTypeParser(INT8_OID, Number);

/** In seconds and tries: a minute after a client's last sign of life, the server closes its connection. */
const KEEPALIVE_SETTINGS = {
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
};

export interface PostgresOptions {
  size?: number | undefined;
  /** Shorter in tests. */
  answerMs?: number | undefined;
  idleInTransactionMs?: number | undefined;
}

/** Fails when the server is unreachable or refuses us. */
export async function openPostgresPool(
  connectionString: string,
  options: PostgresOptions,
): Promise<PostgresPool> {
  const pool = createPostgresPool(connectionString, options);
  try {
    const client = await pool.connect();
    client.release();
  } catch (error) {
    await pool.end();
    throw noAnswer(error);
  }
  return pool;
}

/** Connects at the first use, and closes a connection that was not used for ten seconds. */
export function createPostgresPool(connectionString: string, options: PostgresOptions): PostgresPool {
  const { answerMs = LIMITS.databaseAnswerMs, idleInTransactionMs = LIMITS.databaseIdleInTransactionMs } =
    options;
  const pool = new Pool({
    connectionString,
    max: options.size ?? LIMITS.databaseConnections,
    connectionTimeoutMillis: 10_000,
    // Notices a dead server on connections that are idle or wait for an answer.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: sessionOptions(idleInTransactionMs),
  });
  // A broken connection is replaced at its next use, and fails the query that has it. It also emits an error:
  // the pool does while the connection is idle, the connection itself between two queries. Without a listener,
  // the error would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return withPreparedStatements(pool, createPostgresWatch({ connectionString, answerMs }));
}

/** Settings that every connection of ours begins with. A pooler has to let them pass, or ignore them. */
export function sessionOptions(idleInTransactionMs: number = LIMITS.databaseIdleInTransactionMs): string {
  const settings = {
    ...PLANNER_SETTINGS,
    ...KEEPALIVE_SETTINGS,
    // A process that is frozen or cut off inside a transaction would keep its locks, and the others of its
    // workspace could neither accept nor record.
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
  };
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

export function noAnswer(error: unknown): StartupError {
  const wayOut = wayOutOf(error);
  const { message } = error as Error;
  if (codeOf(error) === READ_ONLY) {
    const found = `PostgreSQL at DATABASE_URL takes no changes: ${message}`;
    return new StartupError(found, TO_WRITE, { cause: error, mayPass: true });
  }
  return new StartupError(
    `PostgreSQL at DATABASE_URL ${wayOut ? 'refuses us' : 'does not answer'}: ${message}`,
    wayOut ??
      'Check that the server runs and that DATABASE_URL names it, or, with `fanfare up`, unset DATABASE_URL to use a managed PostgreSQL.',
    { cause: error, mayPass: wayOut === undefined && isConnectionLoss(error) },
  );
}

/** The server or the driver reports these errors, and the operator must fix them. */
export const isRefusal = (error: unknown): boolean => wayOutOf(error) !== undefined;

/** The words come first, because one code stands for several mistakes, and the driver has none for some of its own. */
function wayOutOf(error: unknown): string | undefined {
  if (refusesOptions(error)) return NO_OPTIONS;
  if (isUntrusted(error)) return NOT_TRUSTED;
  const { message } = error as Error;
  return WAYS_OUT_BY_WORDS.find(([words]) => words.test(message))?.[1] ?? WAYS_OUT[String(codeOf(error))];
}

/** Of a pooler, which knows few settings. */
const refusesOptions = (error: unknown): boolean =>
  codeOf(error) === POOLER && /startup parameter/.test((error as Error).message);
const NO_OPTIONS =
  'Let the pooler ignore the settings of connections (PgBouncer: ignore_startup_parameters = options), and give them to the role; docs/operating.md lists them.';

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

/** OpenSSL's codes of a certificate, Node's of its name, and a file of `sslrootcert` that cannot be read. */
const isUntrusted = (error: unknown): boolean =>
  /CERT|^UNABLE_TO_/.test(String(codeOf(error))) || (error as { syscall?: unknown }).syscall === 'open';
const NOT_TRUSTED =
  'Let DATABASE_URL end in ?sslmode=verify-full&sslrootcert=<file> with the certificates of the authority, and name the host that the certificate is for; docs/operating.md says more.';

const WRONG_LOGIN =
  'Correct the user and password in DATABASE_URL; characters such as / and # in a password are written %2F and %23.';
const WAYS_OUT_BY_WORDS: [RegExp, string][] = [
  [
    /pg_hba\.conf.* no encryption$/,
    'The server may want TLS: add sslmode=verify-full to DATABASE_URL. Otherwise let its pg_hba.conf admit this user, database and address.',
  ],
  [/pg_hba\.conf/, "Let the server's pg_hba.conf admit this user, database and address."],
  [/does not support SSL/, 'Switch TLS on at the server, or write sslmode=disable into DATABASE_URL.'],
  [/^SASL: .*password must be/, WRONG_LOGIN],
];
const WAYS_OUT: Record<string, string | undefined> = {
  '28P01': WRONG_LOGIN,
  '28000': WRONG_LOGIN,
  '3D000': 'Create the database (`createdb`), or correct the last part of DATABASE_URL.',
  '53100': 'Make room on the disk of the database and start again; what was committed is there.',
  '42501': 'Let the user of DATABASE_URL create tables there, or make it the owner of the database.',
};

/** PgBouncer gives this code to whatever it says itself, among it that it cannot reach the server. */
const POOLER = '08P01';
const POOLER_REFUSES = /startup parameter|no such (?:user|database)|auth|password/i;

/** A server that only reads: a standby, an earlier primary after a failover, or one whose disk is nearly full. */
const READ_ONLY = '25006';
export const TO_WRITE =
  'Let DATABASE_URL lead to the primary, and reset default_transaction_read_only where it is on: hosters set it when the disk is nearly full, so make room first.';
const TRANSACTION_FAILED = '25P02';

/**
 * Out of reach, starting, stopping, only reading for now, or without a free connection. An error without a code
 * is the driver's own: a connection that ended, or was not opened in time.
 */
export function isConnectionLoss(error: unknown): boolean {
  const { code, message, severity } = error as { code?: unknown; message?: unknown; severity?: unknown };
  // The server itself ends no connection with it, since it then says ERROR.
  if (code === POOLER) return severity === 'FATAL' && !POOLER_REFUSES.test(String(message));
  if (typeof code === 'string') return /^(E(?!RR_)[A-Z_]+|57P0[1-35]|25P03|25006|53300|08\d{3})$/.test(code);
  return typeof message === 'string' && DRIVER_WORDS.test(message);
}

const DRIVER_WORDS = /^(Connection terminated|timeout exceeded|connect|Client (was closed|has encountered))/i;

/** A pooler in front of PostgreSQL must support prepared statements; docs/operating.md says which do. */
function withPreparedStatements(pool: Pool, watch: PostgresWatch): PostgresPool {
  const names = createStatementNames();
  const prepared = {
    async connect() {
      const client = await pool.connect();
      let isReadOnly = false;
      return accompanied({
        async query(text: string, values: unknown[]): Promise<QueryResult> {
          const query = {
            name: names.nameFor(text) ?? '',
            text,
            values: values.map((value) => (Array.isArray(value) ? textOf(value) : value)),
          };
          try {
            return await watch.over(client, () => client.query(query));
          } catch (error) {
            if (isStale(error)) {
              names.forget(text);
              return await watch
                .over(client, () => client.query({ ...query, name: '' }))
                .catch((again) => {
                  // Its transaction has failed as a whole, and has to be begun anew.
                  throw codeOf(again) === TRANSACTION_FAILED ? error : again;
                });
            }
            isReadOnly ||= codeOf(error) === READ_ONLY;
            throw error;
          }
        },
        // After a failover the connections to the earlier primary stay open, and are sound for all but writing. While they
        // are used they would be kept for ever, though a new one leads to the new primary.
        release: () => client.release(isReadOnly),
      });
    },
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    end: () => pool.end(),
  };
  return prepared as unknown as PostgresPool;
}

/**
 * Session settings. With the default cost of a random read, an update through `unnest` scans the whole table
 * once the table is large: 2.4 times slower at 100,000 rows, and growing with the table. JIT compilation costs
 * more than it saves on queries of a few milliseconds.
 */
const PLANNER_SETTINGS: Record<string, string> = {
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
};

/**
 * A parameter in PostgreSQL's text form, as its Node driver writes it. The driver rewrites every string because
 * of a few; this function rewrites only those.
 */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return plainArray(value) ?? `{${value.map(elementOf).join(',')}}`;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A backslash before anything but a quote or another backslash, which JSON gives to control characters. */
const JSON_ONLY = /\\[^"\\]/;

/**
 * An array of texts, numbers and nulls, written as JSON, because one call for all elements is cheaper than one
 * for each. The two forms differ in their brackets and in control characters alone.
 */
function plainArray(values: readonly unknown[]): string | undefined {
  if (!values.every(isPlain)) return undefined;
  const json = JSON.stringify(values);
  return JSON_ONLY.test(json) ? undefined : `{${json.slice(1, -1)}}`;
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || value === null || value === undefined || Number.isFinite(value);

const MUST_BE_ESCAPED = /["\\]/;
const ESCAPED_EACH = /["\\]/g;

function elementOf(value: unknown): string {
  if (Array.isArray(value)) return textOf(value) as string;
  const text = textOf(value);
  if (text === null) return 'NULL';
  return MUST_BE_ESCAPED.test(text) ? `"${text.replace(ESCAPED_EACH, '\\$&')}"` : `"${text}"`;
}
