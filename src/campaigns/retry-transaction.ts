import type { Kysely, Transaction } from 'kysely';

/** Each begins with a second of waiting, after which the database looks who waits for whom. */
const TRIES = 5;

/**
 * A transaction of statements alone, done again when the database gave it up because it and another one waited for
 * each other: nothing of it was kept, and the other one is done by then. Whoever has done something that is not in
 * the database, and only writes it down here, would be in doubt about it otherwise.
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
