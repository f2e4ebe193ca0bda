import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { createLog } from '../../../src/log';
import { type ManagedPostgres, startManagedPostgres } from '../../../src/storage/managed/managed-postgres';

const DEBIAN_15 = '/usr/lib/postgresql/15/bin';

describe('PostgreSQL 15 of the machine', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-managed-'));
  let running: ManagedPostgres;

  afterAll(async () => {
    await running.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });

  async function start(env: NodeJS.ProcessEnv): Promise<ManagedPostgres> {
    running = await startManagedPostgres({ dataDir, log: createLog('silent'), env });
    return running;
  }

  test('runs when FANFARE_POSTGRES_BIN names it, and its data is opened by it without the setting', async () => {
    const first = await start({ PATH: process.env.PATH, FANFARE_POSTGRES_BIN: DEBIAN_15 });
    expect(first.version).toMatch(/^15/);
    expect(await ask(first.url, "select lower('ÄÖÜ') as lower")).toEqual([{ lower: 'äöü' }]);
    await ask(first.url, 'create table kept as select 7 as n');
    await first.stop();
    const second = await start({ PATH: process.env.PATH });
    expect(second.version).toMatch(/^15/);
    expect(await ask(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });
});

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
