import { type Kysely, sql } from 'kysely';
import { type Control, isLive, type RunPhase } from '../../domain/campaign';
import type { CampaignTables } from '../model/tables';

/** Number of runs in each phase, in all workspaces. A live run that is paused counts as `paused`. */
export async function runPhases(db: Kysely<CampaignTables>): Promise<Map<RunPhase | 'paused', number>> {
  const { rows } = await sql<{ phase: RunPhase; control: Control; runs: number }>`
    select phase, control, count(*)::int as runs from runs group by phase, control`.execute(db);
  const counts = new Map<RunPhase | 'paused', number>();
  for (const { phase, control, runs } of rows) {
    const shown = control === 'pause' && isLive(phase) ? 'paused' : phase;
    counts.set(shown, (counts.get(shown) ?? 0) + runs);
  }
  return counts;
}

/**
 * Recipients of the runs that go on, by the run's phase and by the state that is stored; `pending` are those that have
 * none stored yet, be it that a page has them. Reads some rows for each shard, whatever its size.
 */
export async function recipientsByPhase(
  db: Kysely<CampaignTables>,
): Promise<{ phase: RunPhase | 'paused'; state: string; count: number }[]> {
  const { rows } = await sql<{ phase: RunPhase; control: Control; state: string; count: number }>`
    with live as (
      select id, phase, control from runs where phase in ('planning', 'running', 'finishing')
    ), stored as (
      select run_id, state, sum(count)::int as count from shard_counts
      where run_id in (select id from live) group by run_id, state
    ), frozen as (
      select run_id, sum(to_seq - from_seq)::int as count from shards
      where run_id in (select id from live) group by run_id
    )
    select l.phase, l.control, s.state, s.count from live l join stored s on s.run_id = l.id
    union all
    select l.phase, l.control, 'pending',
      f.count - coalesce((select sum(count)::int from stored s where s.run_id = f.run_id), 0)
    from live l join frozen f on f.run_id = l.id`.execute(db);
  const counts = new Map<string, { phase: RunPhase | 'paused'; state: string; count: number }>();
  for (const { phase, control, state, count } of rows) {
    const shown = control === 'pause' ? 'paused' : phase;
    const known = counts.get(`${shown} ${state}`) ?? { phase: shown, state, count: 0 };
    known.count += count;
    counts.set(`${shown} ${state}`, known);
  }
  return [...counts.values()];
}
