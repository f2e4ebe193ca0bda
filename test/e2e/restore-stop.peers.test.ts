/** Proves that a database that is restored with a stop is never filled without it. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { Client } from 'pg';
import { openStorage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { answers, makeCluster } from '../support/postgres-server';
import { ROOT } from '../support/root';
import { runTied, type TiedProcess } from '../support/run-tied';

const run = promisify(execFile);

describe('a restore with a stop', () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-restore-'));
  const before = process.env.FANFARE_POSTGRES_BIN;
  let server: TiedProcess;
  let serverUrl: string;

  beforeAll(async () => {
    // The programs that dump have to be as new as the server, so both are the system's.
    const [major = ''] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
    process.env.FANFARE_POSTGRES_BIN = join('/usr/lib/postgresql', major, 'bin');
    const cluster = await makeCluster();
    server = runTied(cluster.command, cluster.args, { ...cluster.options, stopSignal: 'SIGINT' });
    await server.untilReady(() => answers(cluster.url));
    serverUrl = cluster.url;
  }, 60_000);

  afterAll(async () => {
    if (before === undefined) delete process.env.FANFARE_POSTGRES_BIN;
    else process.env.FANFARE_POSTGRES_BIN = before;
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const urlOf = (name: string) => Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;

  async function query(url: string, statement: string): Promise<unknown[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(statement);
    await client.end();
    return rows as unknown[];
  }

  const script = (name: string, database: string, ...args: string[]) =>
    run(process.execPath, [join(ROOT, 'scripts', `${name}.mjs`), ...args], {
      env: { ...process.env, DATABASE_URL: urlOf(database) },
    });

  async function dumpOf(name: string, tables: string): Promise<string> {
    await query(serverUrl, `create database ${name}`);
    await query(urlOf(name), tables);
    await script('backup', name, join(directory, name));
    await query(serverUrl, `create database ${name}_back`);
    return join(directory, name);
  }

  const WORKSPACES = `create table workspaces (id text primary key, name text);
    insert into workspaces values ('w', 'a;b\\c')`;

  test('fills the database and stops every workspace', async () => {
    const stops =
      'create table workspace_stops (workspace_id text primary key, since timestamptz default now(), stopped_by text, reason text, ended_at timestamptz)';
    const dump = await dumpOf('whole', `${WORKSPACES}; ${stops}`);
    await script('restore', 'whole_back', dump, '--stop');
    expect(
      await query(
        urlOf('whole_back'),
        'select name, reason from workspaces join workspace_stops on id = workspace_id',
      ),
    ).toEqual([{ name: 'a;b\\c', reason: 'restored from a backup' }]);
  });

  test('stops a dump of a version that knew no stops, and the next start finds its schema complete', async () => {
    await query(serverUrl, 'create database old');
    const before = await openEarlier({ databaseUrl: urlOf('old') }, '0002');
    await sql`insert into workspaces (id, name) values ('w', 'x')`.execute(before.tables());
    await before.close();
    await script('backup', 'old', join(directory, 'old'));
    await query(serverUrl, 'create database old_back');
    await script('restore', 'old_back', join(directory, 'old'), '--stop');

    const storage = await openStorage({ databaseUrl: urlOf('old_back') });
    const { rows } = await sql`
      select workspace_id, reason from workspace_stops where ended_at is null`.execute(storage.tables());
    await storage.close();
    expect(rows).toEqual([{ workspace_id: 'w', reason: 'restored from a backup' }]);
    const columns = `select column_name, data_type, is_nullable, column_default from information_schema.columns
      where table_name = 'workspace_stops' order by 1`;
    await query(serverUrl, 'create database fresh');
    await (await openStorage({ databaseUrl: urlOf('fresh') })).close();
    expect(await query(urlOf('old_back'), columns)).toEqual(await query(urlOf('fresh'), columns));
  });

  test('leaves the database empty when the stop cannot be written', async () => {
    const dump = await dumpOf('other', 'create table things (id text)');
    await expect(script('restore', 'other_back', dump, '--stop')).rejects.toThrow('kysely_migration');
    expect(
      await query(urlOf('other_back'), "select tablename from pg_tables where schemaname = 'public'"),
    ).toEqual([]);
    await script('restore', 'other_back', dump);
    expect(await query(urlOf('other_back'), 'select id from things')).toEqual([]);
  });
});
