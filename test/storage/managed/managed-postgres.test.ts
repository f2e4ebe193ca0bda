/** Proves that the managed PostgreSQL starts, survives crashes and ends with its process. */

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import pino from 'pino';
import { createLog } from '../../../src/log';
import { isSilent } from '../../../src/storage/managed/health';
import {
  type ManagedPostgres,
  type ManagedPostgresOptions,
  startManagedPostgres,
} from '../../../src/storage/managed/managed-postgres';
import { findRunning } from '../../../src/storage/managed/running-server';
import { openStorage } from '../../../src/storage/storage';
import type { CrashOutcome } from '../../../src/supervision/keep-running';
import { isAlive } from '../../support/is-alive';
import { until } from '../../support/until';
import { startOwner } from './owner-process';

/** A database that was made and stopped once; tests begin with copies, because `initdb` takes a second of each. */
let madeOnce: string;
let dataDir: string;
let running: ManagedPostgres[];

beforeAll(async () => {
  madeOnce = mkdtempSync(join(tmpdir(), 'fanfare-managed-'));
  const server = await startManagedPostgres({
    dataDir: madeOnce,
    log: createLog('silent'),
    env: { PATH: process.env.PATH },
  });
  await server.stop();
});

afterAll(() => rmSync(madeOnce, { recursive: true, force: true }));

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fanfare-managed-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

function copyWhatWasMade(): void {
  if (readdirSync(dataDir).length === 0) execFileSync('cp', ['-a', `${madeOnce}/.`, dataDir]);
}

async function start(options: Partial<ManagedPostgresOptions> = {}): Promise<ManagedPostgres> {
  if (options.dataDir === undefined) copyWhatWasMade();
  const server = await startManagedPostgres({
    dataDir,
    log: createLog('silent'),
    env: { PATH: process.env.PATH },
    ...options,
  });
  running.push(server);
  return server;
}

async function ask<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(statement)).rows as Row[];
  } finally {
    await client.end().catch(() => undefined);
  }
}

const answers = (url: string) =>
  ask(url, 'select 1').then(
    () => true,
    () => false,
  );

const kept = (url: string) =>
  ask<{ n: number }>(url, 'select n from kept order by n').then((rows) => rows.map(({ n }) => n));

test('it answers with the settings that keep what was committed, and is gone after stop', async () => {
  const server = await start();
  const [settings] = await ask(
    server.url,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync,
      current_setting('full_page_writes') as pages, current_setting('data_checksums') as checksums,
      current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
      lower('ÄÖÜ') as lower, inet_server_addr() as address`,
  );
  expect(settings).toEqual({
    ...{ fsync: 'on', sync: 'on', pages: 'on', checksums: 'on' },
    ...{ addresses: '', encoding: 'UTF8', lower: 'äöü', address: null },
  });
  expect(await findRunning(dataDir)).toEqual({ url: server.url, pid: server.pid, version: server.version });
  expect(readFileSync(join(dataDir, 'postgres', 'pg_hba.conf'), 'utf8')).not.toMatch(/^host/m);

  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(await findRunning(dataDir)).toBeUndefined();
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('other users can reach neither the socket nor the data', async () => {
  await start();
  for (const folder of ['postgres', 'postgres-run']) {
    expect(statSync(join(dataDir, folder)).mode & 0o077).toBe(0);
  }
  expect(readdirSync(join(dataDir, 'postgres-run'))).toContain('.s.PGSQL.5432');
});

test('the program opens its storage by the URL, migrated', async () => {
  const server = await start();
  const storage = await openStorage({ databaseUrl: server.url });
  expect(storage.connections().open).toBeGreaterThan(0);
  await storage.close();
});

test('stop ends connections that are in a transaction, in order', async () => {
  const server = await start();
  const client = new Client({ connectionString: server.url });
  const ended = new Promise((done) => client.on('error', done));
  await client.connect();
  await client.query('begin');
  await server.stop();
  expect(await ended).toMatchObject({ code: '57P01' });
  // Shut down in order, the next start has nothing to recover.
  const lines: string[] = [];
  const log = createLog('silent');
  await start({ log: { ...log, debug: (fields: { line: string }) => lines.push(fields.line) } as never });
  expect(lines.join('\n')).toContain('database system was shut down');
});

test('what it holds is there after a restart', async () => {
  const first = await start();
  await ask(first.url, 'create table kept as select 7 as n');
  await first.stop();
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(await kept(second.url)).toEqual([7]);
});

test('a server that is killed is brought back at the same socket, with all that was committed', async () => {
  const outcomes: CrashOutcome[] = [];
  const server = await start({ onCrash: (outcome) => outcomes.push(outcome) });
  await ask(server.url, 'create table kept as select 7 as n');
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await until('the crash is reported', () => outcomes.length > 0);
  expect(outcomes).toEqual([{ restarted: true }]);
  expect(server.pid).not.toBe(pid);
  expect(await kept(server.url)).toEqual([7]);
  expect(await findRunning(dataDir)).toMatchObject({ pid: server.pid });
});

test('a server that hangs is ended and brought back, with all that was committed', async () => {
  const outcomes: CrashOutcome[] = [];
  const server = await start({ healthEveryMs: 300, onCrash: (outcome) => outcomes.push(outcome) });
  await ask(server.url, 'create table kept as select 7 as n');
  const { pid } = server;
  process.kill(pid, 'SIGSTOP');
  await until('the crash is reported', () => outcomes.length > 0);
  expect(outcomes).toEqual([{ restarted: true }]);
  expect(server.pid).not.toBe(pid);
  expect(await kept(server.url)).toEqual([7]);
});

test('a server without a free connection, and with a long statement in each, does not count as one that hangs', async () => {
  const server = await start();
  const busy: Client[] = [];
  try {
    for (let full = false; !full; ) {
      const client = new Client({ connectionString: server.url });
      client.on('error', () => undefined);
      await client.connect().then(
        () => busy.push(client),
        (error) => {
          full = error.code === '53300';
        },
      );
    }
    for (const client of busy) client.query('select pg_sleep(600)').catch(() => undefined);
    const directory = new URL(server.url).searchParams.get('host') as string;
    expect(await isSilent(directory, 10_000)).toBe(false);
  } finally {
    await server.stop();
  }
});

test('the last words of a server that died hold nothing of the rows that statements were refused for', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const server = await start({ log });
  await ask(server.url, 'create table persons (address text primary key)');
  const insert = "insert into persons values ('ann@example.com')";
  await ask(server.url, insert);
  await expect(ask(server.url, insert)).rejects.toThrow('duplicate key');
  await expect(ask(server.url, "select 'ann@example.com'::int")).rejects.toThrow('invalid input');
  process.kill(server.pid, 'SIGKILL');
  await until('it is back', () => lines.some((line) => line.includes('is running again')));
  expect(lines.join('')).toContain('the PostgreSQL server died');
  expect(lines.join('')).not.toContain('ann@example.com');
});

test('a statement that still computes when the server is killed does not keep it from coming back', async () => {
  const outcomes: CrashOutcome[] = [];
  const server = await start({ onCrash: (outcome) => outcomes.push(outcome) });
  const busy = ask(server.url, 'select count(*) from generate_series(1, 10000000000) n').catch(
    () => undefined,
  );
  await until('the statement computes', async () => {
    const rows = await ask(
      server.url,
      "select 1 from pg_stat_activity where query like '%generate_series(1, 1000%' and pid <> pg_backend_pid()",
    );
    return rows.length > 0;
  });
  process.kill(server.pid, 'SIGKILL');
  await until('the crash is reported', () => outcomes.length > 0);
  expect(outcomes).toEqual([{ restarted: true }]);
  await busy;
});

test('it ends when its owner is killed, and the next start has what was committed', async () => {
  copyWhatWasMade();
  const owner = await startOwner(dataDir);
  await ask(owner.url, 'create table kept as select 7 as n');
  await owner.kill();
  const server = await start();
  await until('the old server has ended', () => !isAlive(owner.serverPid));
  expect(await kept(server.url)).toEqual([7]);
  await until('the watchdog has ended', () => !isAlive(owner.watchdogPid));
});

test('a server that has lost its owner and its watchdog is ended by the next start', async () => {
  copyWhatWasMade();
  const owner = await startOwner(dataDir);
  await ask(owner.url, 'create table kept as select 7 as n');
  process.kill(owner.watchdogPid, 'SIGKILL');
  await owner.kill();
  const server = await start();
  expect(server.pid).not.toBe(owner.serverPid);
  await until('the old server has ended', () => !isAlive(owner.serverPid));
  expect(await kept(server.url)).toEqual([7]);
});

test('after everything was killed at once, the next start has what was committed', async () => {
  copyWhatWasMade();
  const owner = await startOwner(dataDir);
  await ask(owner.url, 'create table kept as select 7 as n');
  for (const pid of [owner.pid, owner.watchdogPid, owner.serverPid]) process.kill(pid, 'SIGKILL');
  await owner.kill();
  const server = await start();
  expect(await kept(server.url)).toEqual([7]);
});

test('ids in what was left behind that now belong to other processes are left alone', async () => {
  const first = await start();
  await ask(first.url, 'create table kept as select 7 as n');
  await first.stop();
  writeFileSync(join(dataDir, 'postgres-run', 'postgres.pid'), `${process.pid} ${process.pid}`);
  writeFileSync(join(dataDir, 'postgres-run', '.s.PGSQL.5432.lock'), `${process.pid}\n`);
  const postmaster = [
    process.pid,
    join(dataDir, 'postgres'),
    1,
    5432,
    join(dataDir, 'postgres-run'),
    '',
    '1 1',
  ];
  writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), `${postmaster.join('\n')}\n`);
  const server = await start();
  expect(await kept(server.url)).toEqual([7]);
});

test('a second process on the directory is refused, and the server is left alone', async () => {
  const server = await start();
  await expect(start()).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining(`in use by process ${process.pid}`),
  });
  expect(await answers(server.url)).toBe(true);
});

test.each([
  ['too long for a socket', 'x'.repeat(120)],
  ['with a space, a comma and letters beyond ASCII', 'my data, größer "x"'],
])('a path %s works', async (_, name) => {
  const place = join(dataDir, name);
  const server = await start({ dataDir: place, env: { PATH: process.env.PATH, TMPDIR: dataDir } });
  await ask(server.url, 'create table kept as select 7 as n');
  const socket = new URL(server.url).searchParams.get('host') ?? '';
  expect(statSync(socket).mode & 0o077).toBe(0);
  await server.stop();
  const again = await start({ dataDir: place, env: { PATH: process.env.PATH, TMPDIR: dataDir } });
  expect(again.url).toBe(server.url);
  expect(await kept(again.url)).toEqual([7]);
});

describe('what cannot be opened is one error with the way out, and nothing is started:', () => {
  async function refused(
    options: Partial<ManagedPostgresOptions> = {},
  ): Promise<{ message: string; wayOut: string }> {
    const error = await start(options).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: 'StartupError' });
    expect(existsSync(join(dataDir, 'postgres-run', 'postgres.pid'))).toBe(false);
    return error;
  }

  test('a database of the earlier engine', async () => {
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'PG_VERSION'), '18\n');
    const { message, wayOut } = await refused();
    expect(message).toContain('earlier engine');
    expect(wayOut).toContain('FANFARE_DATA_DIR');
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
  });

  test('a folder that is no database', async () => {
    mkdirSync(join(dataDir, 'postgres'));
    expect((await refused()).message).toContain('has no PG_VERSION');
  });

  test('a database whose control file is damaged', async () => {
    await (await start()).stop();
    writeFileSync(join(dataDir, 'postgres', 'global', 'pg_control'), 'x');
    const { message, wayOut } = await refused();
    expect(message).toMatch(/did not start[\s\S]*pg_control/);
    expect(wayOut).toContain('backup');
  });

  test('a database of a version that is not installed', async () => {
    await (await start()).stop();
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '16\n');
    const { message, wayOut } = await refused();
    expect(message).toMatch(/made by PostgreSQL 16/);
    expect(wayOut).toMatch(/FANFARE_POSTGRES_BIN.*pg_dump/);
  });
});
