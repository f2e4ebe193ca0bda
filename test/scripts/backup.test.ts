/** Proves that a backup connects as the program does, to a managed database as well. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/root';

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
