import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { databaseUrlOfTheShell, runProgram, startProgram } from './backup.mjs';

/**
 * `npm run restore -- <file> [--stop]`: fills the empty database that `DATABASE_URL` names from a dump of `npm run backup`.
 * With `--stop`, every workspace is stopped before anything starts, so that an operator can look first.
 */
const REASON = 'restored from a backup';

const USAGE = 'Usage: npm run restore -- <file> [--stop]';

/** A misspelt `--stop`, or one that npm kept for itself, would let everything go on at once. */
async function start(args) {
  const unknown = args.filter((one) => one.startsWith('-') && one !== '--stop');
  if (unknown.length > 0) throw new Error(`${unknown.join(' ')} is not known. ${USAGE}`);
  if (process.env.npm_config_stop)
    throw new Error(`npm took --stop for itself; write -- before the file. ${USAGE}`);
  const [file, ...others] = args.filter((one) => !one.startsWith('-'));
  if (!file || others.length > 0) throw new Error(USAGE);
  await restore(file, { stop: args.includes('--stop') });
}

async function restore(file, { stop }) {
  const dump = resolve(file);
  if (!existsSync(dump)) throw new Error(`${dump} does not exist`);
  const databaseUrl = databaseUrlOfTheShell();
  await refuseFilled(databaseUrl);
  await runProgram('pg_restore', ['--list', '--file=/dev/null', dump], databaseUrl).catch((error) => {
    throw new Error(
      `${dump} cannot be read (${error.message}): it is no file of \`npm run backup\`, or pg_restore is older than the ` +
        'pg_dump that made it; FANFARE_POSTGRES_BIN names the folder of newer programs',
    );
  });
  await fill(databaseUrl, dump, stop);
  // A restored table has no statistics; without them, plans are guesses until the server gathers some by itself.
  await onDatabase(databaseUrl, (client) => client.query('analyze'));
  process.stdout.write(
    stop
      ? 'Restored. Every workspace is stopped; `fanfare stop --end` lets one go on.\n'
      : 'Restored. Campaigns go on with the next start.\n',
  );
}

/**
 * In one transaction, together with the stop, so that a restore that fails or is killed leaves the database empty, and never
 * filled without the stop. Without its last line, `psql` leaves nothing behind.
 */
async function fill(databaseUrl, dump, stop) {
  const psql = startProgram('psql', PSQL, databaseUrl, ['pipe', 'ignore', 'inherit']);
  const reading = startProgram(
    'pg_restore',
    ['--no-owner', '--no-privileges', '--exit-on-error', '--file=-', dump],
    databaseUrl,
    ['ignore', 'pipe', 'inherit'],
  );
  const { stdin } = psql.child;
  // A statement that failed ends `psql`, whose code says so; what was still to be written goes nowhere.
  stdin.on('error', () => undefined);
  psql.ended.catch(() => reading.child.kill());
  stdin.write('begin;\n');
  reading.child.stdout.pipe(stdin, { end: false });
  const whole = Promise.all([reading.ended, finished(reading.child.stdout)]).then(
    () => stdin.end(`${stop ? STOP_ALL : ''}\ncommit;\n`),
    (error) => {
      stdin.end();
      throw error;
    },
  );
  const [filled, read] = await Promise.allSettled([psql.ended, whole]);
  for (const { reason } of [filled, read]) if (reason) throw reason;
}

const PSQL = ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--file=-'];

async function refuseFilled(databaseUrl) {
  await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query(
      "select count(*)::int as tables from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    if (rows[0].tables) throw new Error('The database is not empty; restore into one that was just created');
  });
}

/** A stop that is in force keeps its reason. A dump of a version that knew no stops gets their table, as its migration makes it. */
const STOP_ALL = `
do $$ begin
  if to_regclass('public.workspace_stops') is null then
    create table public.workspace_stops (
      workspace_id text primary key,
      since timestamptz not null default now(),
      stopped_by text,
      reason text not null,
      ended_at timestamptz
    );
    insert into public.kysely_migration values ('0051-workspace-stops', now()::text);
  end if;
end $$;
insert into public.workspace_stops as s (workspace_id, reason) select id, '${REASON}' from public.workspaces
on conflict (workspace_id) do update set since = now(), stopped_by = null, reason = excluded.reason, ended_at = null
where s.ended_at is not null;`;

async function onDatabase(databaseUrl, work) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  start(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
