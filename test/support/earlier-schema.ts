import { MIGRATIONS } from '../../src/storage/migrate';
import { openStorage, type Storage } from '../../src/storage/storage';

/** Opens an empty database as a build did that knew only the migrations before this one. */
export async function openEarlier(place: { databaseUrl: string }, before: string): Promise<Storage> {
  const all = { ...MIGRATIONS };
  for (const name of Object.keys(all)) if (name > before) delete MIGRATIONS[name];
  try {
    return await openStorage(place);
  } finally {
    Object.assign(MIGRATIONS, all);
  }
}
