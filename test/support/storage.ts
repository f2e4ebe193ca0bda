import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { newId } from '../../src/storage/new-id';
import { openStorage, type Storage } from '../../src/storage/storage';
import { embeddedTemplate, keepData, postgresAvailable, postgresUrl } from './services';

export interface Engine {
  name: 'embedded' | 'postgres';
  /**
   * A migrated database that nobody else uses: a directory of its own (embedded, about a second) or a
   * schema of its own (PostgreSQL). Opened in a test or `beforeEach`, it is closed and dropped after the
   * test; opened in `beforeAll`, after the last one. After a failure it is kept, and its place printed.
   */
  open(options?: { poolSize?: number }): Promise<Storage>;
  /**
   * Options for `openStorage`, for tests that open and close it themselves, or leave that to a process of
   * their own. The place is empty, or migrated if asked for (which is quicker to open when embedded).
   */
  place(options?: {
    migrated?: boolean;
  }): Promise<{ dataDir: string; databaseUrl?: string; schema?: string }>;
}

/** Describes the same behaviour once per engine; PostgreSQL's half is skipped where there is none. */
export function describeEachEngine(title: string, body: (engine: Engine) => void): void {
  describeOnEmbedded(`${title} (embedded)`, body);
  describeOnPostgres(`${title} (PostgreSQL)`, body);
}

/** What needs some database, and has no SQL of its own. */
export function describeOnEmbedded(title: string, body: (engine: Engine) => void): void {
  describe(title, () => describeOn('embedded', body));
}

/** What only a database of its own process can be part of. */
export function describeOnPostgres(title: string, body: (engine: Engine) => void): void {
  // Without a server there is nothing to run on; global-setup.ts has printed so.
  const onPostgres = postgresAvailable ? describe : describe.skip;
  onPostgres(title, () => describeOn('postgres', body));
}

interface Opened {
  storage?: Storage;
  place: string;
  remove(): Promise<void>;
}

function describeOn(name: Engine['name'], body: (engine: Engine) => void): void {
  const ofFile: Opened[] = [];
  const ofTest: Opened[] = [];
  let inTest = false;
  const opened = () => (inTest ? ofTest : ofFile);

  beforeEach(() => {
    inTest = true;
  });
  body({
    name,
    async open(options = {}) {
      const made = await makePlace(name, { migrated: true });
      const storage = await openStorage({ ...made.options, ...options });
      opened().push({ ...made, storage });
      return storage;
    },
    async place({ migrated = false } = {}) {
      const made = await makePlace(name, { migrated });
      opened().push(made);
      return made.options;
    },
  });
  // Registered after the body's own hooks, so that these may still use the database.
  afterEach(async () => {
    inTest = false;
    await dispose(ofTest, globalThis.testHasFailed);
  });
  afterAll(() => dispose(ofFile, globalThis.fileHasFailed));
}

async function dispose(all: Opened[], failed: boolean): Promise<void> {
  for (const one of all.splice(0)) {
    // A test may have closed it itself, to open it again or to show what a closed one does.
    await one.storage?.close().catch(() => undefined);
    if (!failed) {
      await one.remove();
    } else {
      await keepData();
      process.stderr.write(`The failed test's database is kept: ${one.place}\n`);
    }
  }
}

async function makePlace(
  name: Engine['name'],
  { migrated }: { migrated: boolean },
): Promise<Opened & { options: { dataDir: string; databaseUrl?: string; schema?: string } }> {
  if (name === 'embedded') {
    const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
    if (migrated) cpSync(await embeddedTemplate(), dataDir, { recursive: true });
    return {
      options: { dataDir },
      place: dataDir,
      remove: async () => rmSync(dataDir, { recursive: true, force: true }),
    };
  }
  const databaseUrl = await postgresUrl();
  const schema = newId('test');
  return {
    options: { dataDir: tmpdir(), databaseUrl, schema },
    place: `schema ${schema}`,
    remove: () => dropSchema(databaseUrl, schema),
  };
}

async function dropSchema(databaseUrl: string, schema: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`drop schema if exists "${schema}" cascade`);
  } finally {
    await client.end();
  }
}
