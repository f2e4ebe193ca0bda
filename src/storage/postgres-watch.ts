import { Client, type PoolClient } from 'pg';
import { LIMITS } from '../domain/limits';

/**
 * Tells a server that is gone from one that takes its time. A server that lost power, was failed over or is
 * behind a router that dropped the connection is silent, and so is a long statement. A query without an answer
 * for a while is therefore looked up on another connection, and ended when the server no longer works on it. A
 * fixed timeout would have to be longer than the longest statement and the longest wait for its locks.
 */
export interface PostgresWatch {
  /** Rejects, with the connection closed, when no answer will come. */
  over<T>(client: PoolClient, query: () => Promise<T>): Promise<T>;
}

export interface WatchOptions {
  connectionString: string;
  answerMs: number;
}

type Seen =
  /** Our server processes that are working. */
  | { kind: 'there'; atWork: ReadonlySet<number> }
  /** A server answers and does not show its processes: a pooler, or a server without a free connection. */
  | { kind: 'unsure' }
  | { kind: 'away' };

export function createPostgresWatch({ connectionString, answerMs }: WatchOptions): PostgresWatch {
  const lookMs = Math.min(answerMs, LIMITS.databaseLookMs);
  let looking: Promise<Seen> | undefined;

  /** One look serves all waiting queries, because they usually wait for the same reason. */
  function look(): Promise<Seen> {
    looking ??= lookOnce(connectionString, lookMs).finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    async over(client, query) {
      let timer: NodeJS.Timeout | undefined;
      let isSettled = false;
      let isLost = false;
      let unsureLooks = 0;
      const wait = () => {
        timer = setTimeout(() => void askAfter(), answerMs);
      };
      const askAfter = async () => {
        const seen = await look();
        if (isSettled) return;
        if (seen.kind === 'unsure') unsureLooks += 1;
        const mayCome =
          seen.kind === 'there'
            ? seen.atWork.has(processOf(client))
            : seen.kind === 'unsure' && unsureLooks < LIMITS.databaseUnsureLooks;
        if (mayCome) return wait();
        isLost = true;
        // A connection with a running query closes without a goodbye; the pool does not take it back.
        void client.end();
      };
      wait();
      try {
        return await query();
      } catch (error) {
        throw isLost ? connectionLost(error) : error;
      } finally {
        isSettled = true;
        clearTimeout(timer);
      }
    },
  };
}

async function lookOnce(connectionString: string, limitMs: number): Promise<Seen> {
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number; own: boolean; idle: boolean }>(
      `select pid, pid = pg_backend_pid() as own, state like 'idle%' as idle from pg_stat_activity
        where usename = current_user and datname = current_database()`,
    );
    // A pooler gives its clients process numbers of its own.
    if (rows.find(({ own }) => own)?.pid !== processOf(client)) return { kind: 'unsure' };
    return { kind: 'there', atWork: new Set(rows.filter(({ idle }) => !idle).map(({ pid }) => pid)) };
  } catch (error) {
    return { kind: (error as { code?: unknown }).code === NO_PLACE ? 'unsure' : 'away' };
  } finally {
    void client.end().catch(() => undefined);
  }
}

const NO_PLACE = '53300';

/** The driver has this member; its types do not. */
const processOf = (client: object): number => (client as { processID: number }).processID;

function connectionLost(cause: unknown): Error {
  return Object.assign(new Error('PostgreSQL does not answer any more', { cause }), { code: 'ETIMEDOUT' });
}
