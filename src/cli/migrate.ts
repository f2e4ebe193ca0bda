import { findDatabase } from '../app/database-module';
import { readConfig } from '../config';
import { openStorage } from '../storage/storage';
import { print } from './command';

/** `fanfare migrate`: opening the storage brings its schema up to date. */
export async function migrateDatabase({ json }: { json?: boolean }): Promise<void> {
  const config = readConfig(process.env);
  await (await openStorage({ databaseUrl: await findDatabase(config) })).close();
  print(json, { upToDate: true }, ['The database schema is up to date.']);
}
