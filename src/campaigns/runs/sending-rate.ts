import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Phase } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../tables';
import type { Counts } from './ledger-counts';

/**
 * How fast a run is: each shard counts what it takes on in a row per second, of which it has a fixed number
 * and writes the oldest over. SQL, for the statement that records a chunk; counts if its CTE `page` has a row.
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
  /** Recipients taken on a second, over the last whole seconds. */
  ratePerSecond: number;
  /** When everybody has been taken on, if it goes on so; null when it stands still or is done. */
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
  // Seconds are all it is good for; and a time that no calendar has is no time.
  const ms = Math.min(left / ratePerSecond, 10 * 365 * 86_400) * 1_000;
  return { ratePerSecond, eta: new Date(Math.ceil((Date.now() + ms) / 1_000) * 1_000) };
}
