import { type Kysely, sql } from 'kysely';
import { type Control, isLive, type RunPhase } from '../../domain/campaign';
import type { CampaignTables } from '../tables';

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
