import { createLog } from '../../src/log';
import { startManagedPostgres } from '../../src/storage/managed/managed-postgres';
import { openStorage, type Storage } from '../../src/storage/storage';
import type { Place } from '../support/fanfare-process';

/** The database of an installation that is not running, on a managed server where it would have one. */
export async function withStorage<T>(
  { env, dataDir }: Place,
  work: (storage: Storage) => Promise<T>,
): Promise<T> {
  const server = env.DATABASE_URL
    ? undefined
    : await startManagedPostgres({ dataDir, env, log: createLog('silent') });
  try {
    const storage = await openStorage({ databaseUrl: server?.url ?? env.DATABASE_URL ?? '' });
    try {
      return await work(storage);
    } finally {
      await storage.close();
    }
  } finally {
    await server?.stop();
  }
}
