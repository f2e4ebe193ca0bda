import { openStorage, type Storage } from '../../src/storage/storage';
import { cloneDatabase, dropDatabase, emptyDatabase, newDatabaseName } from './databases';
import { keepData } from './services';

export interface TestDatabase {
  /**
   * A migrated database of the caller's own. Opened in a test or `beforeEach`, it is closed and dropped after
   * the test; opened in `beforeAll`, after the last one. After a failure it is kept, and its name printed.
   */
  open(options?: { poolSize?: number }): Promise<Storage>;
  /**
   * Options for `openStorage`, for tests that open and close it themselves, or leave that to a process of
   * their own. The database is empty, or migrated if asked for.
   */
  place(options?: { migrated?: boolean }): Promise<{ databaseUrl: string }>;
}

interface Opened {
  storage?: Storage;
  databaseUrl: string;
}

/** Describes behaviour that needs a database of its own. */
export function describeWithDatabase(title: string, body: (database: TestDatabase) => void): void {
  describe(title, () => {
    const ofFile: Opened[] = [];
    const ofTest: Opened[] = [];
    let inTest = false;
    const opened = () => (inTest ? ofTest : ofFile);

    beforeEach(() => {
      inTest = true;
    });
    body({
      async open(options = {}) {
        const databaseUrl = await cloneDatabase(newDatabaseName());
        const storage = await openStorage({ databaseUrl, ...options });
        opened().push({ databaseUrl, storage });
        return storage;
      },
      async place({ migrated = false } = {}) {
        const databaseUrl = await (migrated ? cloneDatabase : emptyDatabase)(newDatabaseName());
        opened().push({ databaseUrl });
        return { databaseUrl };
      },
    });
    // Registered after the body's own hooks, so that these may still use the database.
    afterEach(async () => {
      inTest = false;
      await dispose(ofTest, globalThis.testHasFailed);
    });
    afterAll(() => dispose(ofFile, globalThis.fileHasFailed));
  });
}

async function dispose(all: Opened[], failed: boolean): Promise<void> {
  for (const { storage, databaseUrl } of all.splice(0)) {
    // A test may have closed it itself, to open it again or to show what a closed one does.
    await storage?.close().catch(() => undefined);
    if (!failed) {
      await dropDatabase(databaseUrl);
    } else {
      await keepData();
      process.stderr.write(`The failed test's database is kept: ${databaseUrl}\n`);
    }
  }
}
