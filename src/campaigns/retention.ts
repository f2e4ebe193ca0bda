import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { type CleanupStep, type PeriodicCleanup, startPeriodicCleanup } from '../storage/periodic-cleanup';
import { endOldHolds } from './actions/old-holds';
import type { HeldMessages } from './model/dependencies';
import type { CampaignTables } from './model/tables';
import { readOutcomes } from './reports/recipient-outcomes';

/** Tables with a row for each recipient, call or skipped contact of a run. */
const RUN_TABLES = ['recipients', 'calls', 'skipped_contacts'] as const;

/**
 * Deletes what is known of persons in runs that ended `days` ago, and durable sends that did. Without `days`
 * everything is kept for ever. A run's row, its counts and its outcomes by code stay. Holds of campaigns that are over
 * end in any case.
 *
 * A run is marked first, together with its outcomes, and loses its rows in steps after that. A process that is
 * killed in between leaves the mark, by which the next sweep continues. A marked run cannot be resumed
 * (campaign-actions.ts), because its recipients could no longer be sent to.
 */
export function keepCampaignRetention({
  db,
  days,
  held,
  log,
  now = Date.now,
}: {
  db: Kysely<CampaignTables>;
  days: number | undefined;
  held: HeldMessages;
  log: Log;
  now?: () => number;
}): PeriodicCleanup {
  const before = (keptDays: number) => new Date(now() - keptDays * DAY_MS).toISOString();
  const stepsOfRecords = (keptDays: number): CleanupStep[] => [
    () => markRuns(db, before(keptDays)),
    ...RUN_TABLES.map((table) => () => deleteRows(db, table)),
    () => finishRuns(db),
    () => deleteSends(db, before(keptDays)),
  ];
  const steps = (): CleanupStep[] => [
    ...(days === undefined ? [] : stepsOfRecords(days)),
    endOldHolds(db, held, log),
  ];
  return startPeriodicCleanup({
    steps,
    onFailed: (error) =>
      log.warn({ err: error }, 'Old runs could not be emptied; trying again at the next sweep'),
  });
}

const DAY_MS = 86_400_000;

/** Marks some runs, the oldest first. A run that was resumed meanwhile has no `finished_at` and is left alone. */
async function markRuns(db: Kysely<CampaignTables>, before: string): Promise<number> {
  const ended = sql<boolean>`finished_at < ${before}::timestamptz and recipients_deleted_at is null
    and phase in ('completed', 'canceled', 'failed')`;
  const runs = await db
    .selectFrom('runs')
    .select('id')
    .where(ended)
    .orderBy('finished_at')
    .limit(LIMITS.retentionRuns)
    .execute();
  for (const { id } of runs) {
    const outcomes = JSON.stringify(await readOutcomes(db, id));
    await db
      .updateTable('runs')
      .set({ recipients_deleted_at: sql<Date>`now()`, recipients_left: true, outcomes })
      .where('id', '=', id)
      .where(ended)
      .execute();
  }
  return runs.length;
}

async function deleteRows(db: Kysely<CampaignTables>, table: (typeof RUN_TABLES)[number]): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select t.ctid from (select id from runs where recipients_left order by recipients_deleted_at) run
      cross join lateral (
        select ctid from ${sql.table(table)} where run_id = run.id limit ${LIMITS.retentionRows}
      ) t limit ${LIMITS.retentionRows}
    ))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Takes the mark from runs without rows. A late report may have added none, because it only changes rows. */
async function finishRuns(db: Kysely<CampaignTables>): Promise<number> {
  const rowsLeft = sql.join(
    RUN_TABLES.map((table) => sql`exists (select from ${sql.table(table)} where run_id = runs.id)`),
    sql` or `,
  );
  const { numAffectedRows } = await sql`
    update runs set recipients_left = null where recipients_left and not (${rowsLeft})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function deleteSends(db: Kysely<CampaignTables>, before: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from durable_sends where id in (
      select id from durable_sends where finished_at < ${before}::timestamptz
      order by finished_at limit ${LIMITS.retentionRows}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
