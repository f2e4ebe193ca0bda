import { findDatabase } from '../app/database-module';
import { readConfig } from '../config';
import { openStorage } from '../storage/storage';
import { print } from './command';

/** `fanfare migrate`: opening the storage brings its schema up to date. Waits for its indexes. */
export async function migrateDatabase({ json }: { json?: boolean }): Promise<void> {
  const config = readConfig(process.env);
  const storage = await openStorage({
    databaseUrl: await findDatabase(config),
    onIndex: ({ name, number, of }) => {
      if (!json)
        print(false, {}, [`Building index ${number} of ${of}, ${name}; campaigns may go on meanwhile.`]);
    },
  });
  await storage.indexes.finally(() => storage.close());
  print(json, { upToDate: true }, ['The database schema is up to date.']);
}
