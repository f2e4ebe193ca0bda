import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Phase } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import type { Counts } from './ledger-counts';

/**
 * Measures how fast a run sends. Each shard counts the recipients it takes in one row per second; it has a
 * fixed number of rows and overwrites the oldest. This is SQL for the statement that records a chunk; it counts
 * only if that statement's CTE `page` has a row.
 */
export function countTaken(
  shard: { runId: string; channel: Channel; shard: number },
  taken: number,
): RawBuilder<unknown> {
  return sql`
    insert into shard_seconds as s (run_id, channel, shard, slot, second, taken)
    select ${shard.runId}, ${shard.channel}, ${shard.shard}::int, second % ${LIMITS.speedSlots}::int, second, ${taken}::int
    from page, (select floor(extract(epoch from clock_timestamp()))::bigint as second) now
    where ${taken}::int > 0
    on conflict (run_id, channel, shard, slot) do update set second = excluded.second,
      taken = excluded.taken + case when s.second = excluded.second then s.taken else 0 end`;
}

export interface RunSpeed {
  /** Sending rate in recipients per second, over the last whole seconds. */
  ratePerSecond: number;
  /** When all recipients will have been taken, at the present rate. Null when the run stands still or is done. */
  eta: Date | null;
}

export const STANDING: RunSpeed = { ratePerSecond: 0, eta: null };

export async function readSpeed(
  db: Kysely<CampaignTables>,
  run: { id: string; started_at: Date },
  phase: Phase,
  counts: Counts,
): Promise<RunSpeed> {
  if (phase !== 'running' && phase !== 'finishing') return STANDING;
  const { rows } = await sql<{ taken: number; seconds: number }>`
    with now as (select floor(extract(epoch from clock_timestamp()))::bigint as second)
    select coalesce(sum(taken), 0)::int as taken,
      greatest(1, least(${LIMITS.speedSeconds}::int, (select second from now) - min(
        floor(extract(epoch from ${run.started_at.toISOString()}::timestamptz))::bigint)))::int as seconds
    from shard_seconds, now
    where run_id = ${run.id} and shard_seconds.second >= now.second - ${LIMITS.speedSeconds}::int
      and shard_seconds.second < now.second`.execute(db);
  const ratePerSecond = Math.round(((rows[0]?.taken ?? 0) / (rows[0]?.seconds ?? 1)) * 100) / 100;
  const left = Object.values(counts).reduce((sum, { pending, waiting }) => sum + pending + waiting, 0);
  if (ratePerSecond === 0 || left === 0) return { ratePerSecond, eta: null };
  // Rounded to a second, because the rate is no more exact. Capped at ten years, so that the date stays valid.
  const ms = Math.min(left / ratePerSecond, 10 * 365 * 86_400) * 1_000;
  return { ratePerSecond, eta: new Date(Math.ceil((Date.now() + ms) / 1_000) * 1_000) };
}
