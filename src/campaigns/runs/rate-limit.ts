import { type Kysely, sql } from 'kysely';
import type { Control } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { wantedControl } from '../stops/wanted-control';

/**
 * A run's rate limit: one row says when the next permit is free, and one statement moves it on by the
 * database's clock. A process that waits for the row's lock computes from what the previous one left. All
 * channels, shards, page workers and processes thus share a rate without messages between them.
 *
 * Permits that were taken and not used, because a process died or the run was paused, are lost: a run is never
 * faster than its rate.
 */
export interface Permits {
  /** How many permits were granted; 0 when none is free yet. */
  granted: number;
  /** Time until the granted permits hold, or until asking again makes sense. */
  waitMs: number;
}

/**
 * Takes permits for up to `most` recipients, in lots, and for all of `least`, who are in doubt together. A run
 * without a rate gets as many as it asks for.
 */
export async function takePermits(
  db: Kysely<CampaignTables>,
  runId: string,
  { least, most }: { least: number; most: number },
): Promise<Permits> {
  const lot = sql`greatest(
    ${least}::int, 1, least(${most}::int, floor(p.rate * ${LIMITS.paceLotMs / 1_000}::float8)::int))`;
  const free = sql`greatest(p.next_at, clock_timestamp() - ${interval(LIMITS.paceKeepMs)})`;
  const { rows } = await sql<Permits>`
    with taken as (
      update run_paces p set next_at = ${free} + ${lot} / p.rate * interval '1 second'
      where run_id = ${runId} and rate is not null
        and p.next_at <= clock_timestamp() + ${interval(LIMITS.paceAheadMs)}
      returning ${lot} as granted,
        greatest(0, extract(epoch from p.next_at - clock_timestamp()) * 1000 - ${lot} / p.rate * 1000)::float8 as "waitMs"
    )
    select granted, "waitMs" from taken
    union all
    select 0, greatest(5, extract(epoch from next_at - clock_timestamp()) * 1000 - ${LIMITS.paceAheadMs})::float8
    from run_paces where run_id = ${runId} and rate is not null and not exists (select from taken)`.execute(
    db,
  );
  return rows[0] ?? { granted: most, waitMs: 0 };
}

const interval = (ms: number) => sql`${ms} * interval '1 millisecond'`;

/** How many recipients of a run make a page, so that it takes seconds at the run's rate. */
export function pageAtPace(ratePerSecond: number | null | undefined, size: number): number {
  if (!ratePerSecond) return size;
  return Math.max(1, Math.min(size, Math.ceil((ratePerSecond * LIMITS.pacePageMs) / 1_000)));
}

/**
 * Sets a run's rate, or removes it with null. Permits are free again at once: few were given out at the old
 * rate, and waiting for them could take days.
 */
export async function setPace(
  db: Kysely<CampaignTables>,
  runId: string,
  ratePerSecond: number | null,
): Promise<void> {
  if (ratePerSecond === null) {
    await db.updateTable('run_paces').set({ rate: null }).where('run_id', '=', runId).execute();
    return;
  }
  await sql`
    insert into run_paces as p (run_id, rate) values (${runId}, ${ratePerSecond})
    on conflict (run_id) do update set rate = excluded.rate,
      next_at = least(p.next_at, clock_timestamp() + ${interval(LIMITS.paceLotMs)})`.execute(db);
}

/** Reads what a waiting activity needs: whether to continue, and how fast. */
export async function readPace(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<{ control: Control; ratePerSecond: number | null }> {
  return db
    .selectFrom('runs')
    .leftJoin('run_paces', 'run_paces.run_id', 'runs.id')
    .select([wantedControl().as('control'), 'run_paces.rate as ratePerSecond'])
    .where('runs.id', '=', runId)
    .executeTakeFirstOrThrow();
}
