import type { Kysely, Transaction } from 'kysely';

/**
 * PostgreSQL waits one second (`deadlock_timeout`) before it detects a deadlock, so that a retry costs at least
 * that.
 */
const TRIES = 5;

/**
 * Repeats a transaction that the database gave up because of a deadlock. Nothing of it was kept, and the other
 * transaction is done by then. Use it only for transactions of statements alone. A caller that has already sent
 * something and now records it would otherwise be left in doubt.
 */
export function retryTransaction<T, R>(db: Kysely<T>, work: (tx: Transaction<T>) => Promise<R>): Promise<R> {
  return retryStatement(() => db.transaction().execute(work));
}

/** The same for one statement, which is a transaction too. */
export async function retryStatement<R>(work: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isGivenUp(error) || tries === TRIES) throw error;
    }
  }
}

/** PostgreSQL: serialization_failure, deadlock_detected. */
function isGivenUp(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === '40001' || code === '40P01';
}
