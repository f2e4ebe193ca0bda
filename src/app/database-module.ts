import { resolve } from 'node:path';
import type { Config } from '../config';
import { StartupError } from '../startup-error';
import { startManagedPostgres } from '../storage/managed/managed-postgres';
import { findRunning } from '../storage/managed/running-server';
import type { AppOptions } from './app';
import type { Shutdown } from './shutdown';
import { withStartupRetry } from './startup-retry';

export interface DatabaseModule {
  url: string;
  /** The data directory belongs to another process, which runs the database for this one too. */
  isShared: boolean;
}

/**
 * Opens the operator's server if one is configured; otherwise a managed one, which `up` runs and every other
 * command finds.
 */
export async function openDatabaseModule(
  { config, log, env, http, roles, signal }: AppOptions,
  shutdown: Shutdown,
  fail: (error: Error) => void,
): Promise<DatabaseModule> {
  if (config.databaseUrl) return { url: config.databaseUrl, isShared: false };
  const isOneOfSeveral = !http || roles.length === 0;
  if (isOneOfSeveral) {
    return { url: await withStartupRetry(() => findDatabase(config), { log, signal }), isShared: true };
  }
  const server = await startManagedPostgres({
    dataDir: config.dataDir,
    log,
    env: { ...env, FANFARE_POSTGRES_BIN: config.postgresBin },
    onCrash: (outcome) => {
      if (outcome.restarted) return;
      fail(
        new StartupError(
          `The PostgreSQL server keeps ending: ${outcome.error.message}`,
          'Once the cause is gone, start again: what was committed is there.',
        ),
      );
    },
  });
  shutdown.add('database server', () => server.stop());
  return { url: server.url, isShared: false };
}

/** The connection string of a database that runs already. */
export async function findDatabase({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<string> {
  const url = databaseUrl ?? (await findRunning(dataDir))?.url;
  if (url) return url;
  throw new StartupError(
    `DATABASE_URL is not set, and no \`fanfare up\` runs a database on ${resolve(dataDir)}`,
    'Start `fanfare up` with the same FANFARE_DATA_DIR first, or set DATABASE_URL to a PostgreSQL database.',
    { mayPass: true },
  );
}
