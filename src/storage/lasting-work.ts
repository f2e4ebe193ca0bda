import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../domain/limits';
import { isConnectionLoss } from './postgres';

/** Called with the error of a connection that was lost. */
export type OnLost = (error: unknown) => void;

/**
 * Does work of minutes on a connection of its own, and begins it anew when the connection is lost, because what depends
 * on it would otherwise wait until a process is restarted: a database that restarts ends the work of every process.
 */
export async function onLastingConnection(
  db: Kysely<unknown>,
  work: (connection: Kysely<unknown>) => Promise<void>,
  { isStopped, onLost }: { isStopped: () => boolean; onLost: OnLost },
): Promise<void> {
  while (!isStopped()) {
    try {
      return await db.connection().execute(work);
    } catch (error) {
      if (isStopped() || !isConnectionLoss(error)) throw error;
      onLost(error);
      await delay(LIMITS.indexLockPauseMs);
    }
  }
}
