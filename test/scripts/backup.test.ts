/** Proves that a backup connects as the program does, to a managed database as well. */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

const SCRIPT = pathToFileURL(join(ROOT, 'scripts', 'backup.mjs')).href;

function variablesFor(url: string): Record<string, string> {
  const program = `import(process.argv[1]).then((m) => console.log(JSON.stringify(m.connectionOf(process.argv[2]))))`;
  return JSON.parse(execFileSync(process.execPath, ['-e', program, SCRIPT, url], { encoding: 'utf8' }));
}

test('the URL of a managed database names its user behind the question mark', () => {
  expect(variablesFor('postgres:///fanfare?host=/var/lib/a%20b/postgres-run&user=fanfare')).toEqual({
    PGHOST: '/var/lib/a b/postgres-run',
    PGUSER: 'fanfare',
    PGDATABASE: 'fanfare',
  });
});

test('user and password of another server are before its name', () => {
  expect(variablesFor('postgres://me:a%2Fb@db.example:5433/ours?sslmode=require')).toEqual({
    PGHOST: 'db.example',
    PGPORT: '5433',
    PGUSER: 'me',
    PGPASSWORD: 'a/b',
    PGDATABASE: 'ours',
    PGSSLMODE: 'require',
  });
});

test('TLS without a look at the certificate has another name in the URL', () => {
  const { PGSSLMODE } = variablesFor('postgres://me:secret@db.example/ours?sslmode=no-verify');
  expect(PGSSLMODE).toBe('require');
});

describeWithDatabase('backup and restore', (database) => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-backup-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Programs that say this of themselves, and can do nothing. */
  function programs(version: string): string {
    const folder = mkdtempSync(join(directory, 'bin-'));
    for (const name of ['pg_dump', 'pg_restore']) {
      const script = `#!/bin/sh\n[ "$1" = --version ] || exit 1\necho "${'$'}{0##*/} (PostgreSQL) ${version}"\n`;
      writeFileSync(join(folder, name), script);
      chmodSync(join(folder, name), 0o755);
    }
    return folder;
  }
  const run = (script: string, file: string, env: Record<string, string>, ...options: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts', script), join(directory, file), ...options], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });

  test('programs older than the server are refused before anything is written, with what to do', async () => {
    const { databaseUrl } = await database.place();
    const env = { DATABASE_URL: databaseUrl, FANFARE_POSTGRES_BIN: programs('9.6.1') };
    const { status, stderr } = run('backup.mjs', 'backups/monday.dump', env);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^pg_dump is of PostgreSQL 9, and the server of \d+; install .*FANFARE_POSTGRES_BIN/,
      ),
    ]);
    expect(readdirSync(directory)).not.toContain('backups');
  });

  test('a file that cannot be read as a dump is named, and the database stays empty', async () => {
    const { databaseUrl } = await database.place();
    writeFileSync(join(directory, 'newer.dump'), 'PGDMP');
    const env = { DATABASE_URL: databaseUrl, FANFARE_POSTGRES_BIN: programs('15.1') };
    const { status, stderr } = run('restore.mjs', 'newer.dump', env);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/newer\.dump cannot be read .*FANFARE_POSTGRES_BIN/),
    ]);
  });

  test('a misspelt --stop, and one that npm keeps for itself, restore nothing', async () => {
    const { databaseUrl } = await database.place();
    const DATABASE_URL = databaseUrl;
    writeFileSync(join(directory, 'whole.dump'), 'PGDMP');
    const misspelt = run('restore.mjs', 'whole.dump', { DATABASE_URL }, '--sotp');
    expect([misspelt.status, misspelt.stderr]).toEqual([1, expect.stringMatching(/^--sotp is not known/)]);
    const kept = run('restore.mjs', 'whole.dump', { DATABASE_URL, npm_config_stop: 'true' });
    expect([kept.status, kept.stderr]).toEqual([1, expect.stringContaining('write -- before the file')]);
  });

  test('a DATABASE_URL that is no address is refused with the form that it has', () => {
    const { status, stderr } = run('backup.mjs', 'x.dump', { DATABASE_URL: 'db.example/fanfare' });
    expect([status, stderr]).toEqual([1, expect.stringContaining('postgres://user:password@host:5432/name')]);
  });
});
