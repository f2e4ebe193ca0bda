import type { Config } from '../config';
import { StartupError } from '../startup-error';

/** The connection string of the database to use. */
export function requiredDatabaseUrl({ databaseUrl }: Pick<Config, 'databaseUrl'>): string {
  if (databaseUrl) return databaseUrl;
  throw new StartupError('DATABASE_URL is not set', 'Set it to a PostgreSQL database.');
}
