import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { databaseUrlOfTheShell, runProgram } from './backup.mjs';

/**
 * `npm run restore -- <file> [--stop]`: fills the empty database that `DATABASE_URL` names from a dump of `npm run backup`.
 * With `--stop`, every workspace is stopped before anything starts, so that an operator can look first.
 */
const REASON = 'restored from a backup';

async function restore(file, { stop }) {
  if (!file) throw new Error('Usage: npm run restore -- <file> [--stop]');
  const dump = resolve(file);
  if (!existsSync(dump)) throw new Error(`${dump} does not exist`);
  const databaseUrl = databaseUrlOfTheShell();
  await refuseFilled(databaseUrl);
  // In one transaction, so that a restore that fails leaves the database empty.
  const args = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction'];
  await runProgram('pg_restore', [...args, `--dbname=${nameOf(databaseUrl)}`, dump], databaseUrl);
  await onDatabase(databaseUrl, async (client) => {
    if (stop) await stopAll(client);
    // A restored table has no statistics; without them, plans are guesses until the server gathers some by itself.
    await client.query('analyze');
  });
  process.stdout.write(
    stop
      ? 'Restored. Every workspace is stopped; `fanfare stop --end` lets one go on.\n'
      : 'Restored. Campaigns go on with the next start.\n',
  );
}

const nameOf = (databaseUrl) => decodeURIComponent(new URL(databaseUrl).pathname.slice(1));

async function refuseFilled(databaseUrl) {
  await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query(
      "select count(*)::int as tables from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    if (rows[0].tables) throw new Error('The database is not empty; restore into one that was just created');
  });
}

/** A stop that is in force keeps its reason. */
async function stopAll(client) {
  await client.query(
    `insert into workspace_stops as s (workspace_id, reason) select id, $1 from workspaces
     on conflict (workspace_id) do update set since = now(), stopped_by = null, reason = excluded.reason, ended_at = null
     where s.ended_at is not null`,
    [REASON],
  );
}

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
  const args = process.argv.slice(2);
  restore(
    args.find((one) => !one.startsWith('--')),
    { stop: args.includes('--stop') },
  ).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
