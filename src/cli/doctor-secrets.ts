import { refusalsForKeys } from '../app/secrets-module';
import type { MessagingTables } from '../messaging/model/tables';
import type { StartupError } from '../startup-error';
import { lookAtPostgres, readWithoutMigrating } from '../storage/look-at-postgres';
import { findRunning } from '../storage/managed/running-server';
import type { Check } from './doctor';

/** Checks whether this shell has the keys that the secrets in the database are sealed with. A start without them fails. */
export const lookAtSecrets: Check = async ({ config }) => {
  const check = 'secrets';
  const url = config.databaseUrl ?? (await findRunning(config.dataDir))?.url;
  // That nothing answers is found with the database; an older schema may have none of the tables yet.
  const schema = url === undefined ? undefined : await lookAtPostgres(url).catch(() => undefined);
  if (url === undefined || !schema || schema.pending.length > 0) return [];
  const refusals = await readWithoutMigrating<MessagingTables, StartupError[]>(url, (db) =>
    refusalsForKeys(config, db),
  );
  if (refusals.length === 0)
    return [{ check, state: 'ok', found: 'every key of the sealed secrets is there' }];
  return refusals.map(({ message, wayOut }) => ({
    ...{ check, state: 'broken', found: message },
    wayOut: `${wayOut} A process that runs workers alone needs none.`,
  }));
};
