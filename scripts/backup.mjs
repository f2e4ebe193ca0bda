import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * `npm run backup -- <file>`: a dump of the database that `DATABASE_URL` names, while everything goes on. It is of one
 * moment: what is written after its first second is not in it. docs/operating.md says what else belongs to a backup.
 */

/** Of `FANFARE_POSTGRES_BIN`, if the program is there, else from PATH. It must be as new as the server. */
export function postgresProgram(name) {
  const { FANFARE_POSTGRES_BIN: folder } = process.env;
  const own = folder && join(folder, name);
  return own && existsSync(own) ? own : name;
}

/**
 * The variables by which PostgreSQL's programs connect. The password does not become an argument, because every user of
 * the machine can read those.
 */
export function connectionOf(databaseUrl) {
  const url = new URL(databaseUrl);
  const { searchParams } = url;
  const variables = {
    PGHOST: searchParams.get('host') ?? decodeURIComponent(url.hostname),
    PGPORT: searchParams.get('port') ?? url.port,
    // In the URL of a managed database, as the program's own driver reads it.
    PGUSER: searchParams.get('user') ?? decodeURIComponent(url.username),
    PGPASSWORD: searchParams.get('password') ?? decodeURIComponent(url.password),
    PGDATABASE: decodeURIComponent(url.pathname.slice(1)),
    // The program's driver has a name of its own for TLS without a look at the certificate.
    PGSSLMODE: (searchParams.get('sslmode') ?? '').replace('no-verify', 'require'),
    PGSSLROOTCERT: searchParams.get('sslrootcert') ?? '',
  };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
}

/** Runs one of PostgreSQL's programs; its words go to this process's own. */
export const runProgram = (name, args, databaseUrl) =>
  startProgram(name, args, databaseUrl, ['ignore', 'inherit', 'inherit']).ended;

export function startProgram(name, args, databaseUrl, stdio) {
  const child = spawn(postgresProgram(name), args, {
    stdio,
    env: { ...process.env, ...connectionOf(databaseUrl) },
  });
  const ended = new Promise((done, fail) => {
    child.once('error', (error) =>
      fail(new Error(`${name} cannot be started (${error.code}); install PostgreSQL's client programs`)),
    );
    child.once('exit', (code, signal) =>
      code === 0 ? done() : fail(new Error(`${name} ended with ${code ?? signal}`)),
    );
  });
  return { child, ended };
}

/** The server refuses older programs only after they have connected, and they do not say what to do. */
export async function needNewEnough(name, databaseUrl) {
  const { stdout = '' } = await promisify(execFile)(postgresProgram(name), ['--version']).catch(() => ({}));
  const own = Number(/\d+/.exec(stdout)?.[0] ?? Number.NaN);
  const server = await majorOf(databaseUrl);
  if (Number.isNaN(own) || own >= server) return;
  throw new Error(
    `${name} is of PostgreSQL ${own}, and the server of ${server}; install the client programs of PostgreSQL ${server} ` +
      'or newer, and let FANFARE_POSTGRES_BIN name their folder',
  );
}

async function majorOf(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query('show server_version_num');
    return Math.floor(Number(rows[0].server_version_num) / 10_000);
  } finally {
    await client.end();
  }
}

export function databaseUrlOfTheShell() {
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL) {
    throw new Error('DATABASE_URL is not set; `fanfare doctor` prints the URL of a managed database');
  }
  if (!URL.canParse(DATABASE_URL)) {
    throw new Error('DATABASE_URL is no address; it must be postgres://user:password@host:5432/name');
  }
  return DATABASE_URL;
}

async function backup(file) {
  if (!file) throw new Error('Usage: npm run backup -- <file>');
  const databaseUrl = databaseUrlOfTheShell();
  const target = resolve(file);
  if (existsSync(target)) throw new Error(`${target} exists; choose another name`);
  await needNewEnough('pg_dump', databaseUrl);
  mkdirSync(dirname(target), { recursive: true });
  // A file under its name is whole: one that was cut short keeps its other name.
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  process.umask(0o077);
  const args = ['--format=custom', '--no-owner', '--no-privileges', `--file=${partial}`];
  await runProgram('pg_dump', args, databaseUrl);
  await runProgram('pg_restore', ['--list', '--file=/dev/null', partial], databaseUrl);
  renameSync(partial, target);
  process.stdout.write(`The database is in ${target}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  backup(process.argv[2]).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
