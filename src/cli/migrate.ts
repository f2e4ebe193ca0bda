import { findDatabase } from '../app/database-module';
import { readConfig } from '../config';
import { openStorage } from '../storage/storage';
import { print } from './command';

/** `fanfare migrate`: opening the storage brings its schema up to date. Waits for its indexes and older rows. */
export async function migrateDatabase({ json }: { json?: boolean }): Promise<void> {
  const config = readConfig(process.env);
  let shown = '';
  const storage = await openStorage({
    databaseUrl: await findDatabase(config),
    onIndex: ({ name, number, of }) => {
      if (!json)
        print(false, {}, [`Building index ${number} of ${of}, ${name}; campaigns may go on meanwhile.`]);
    },
    onUpdate: ({ name, percent }) => {
      const line = `Filling ${name} of older rows, ${percent - (percent % 10)} %; campaigns may go on meanwhile.`;
      if (!json && line !== shown) print(false, {}, [line]);
      shown = line;
    },
    onLost: (error) => {
      if (!json) print(false, {}, [`The connection was lost (${(error as Error).message}); going on.`]);
    },
  });
  await storage.indexes.finally(() => storage.close());
  print(json, { upToDate: true }, ['The database schema is up to date.']);
}
