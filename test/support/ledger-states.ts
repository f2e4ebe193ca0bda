import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/tables';
import type { RecipientState } from '../../src/domain/recipient';

/** What the rows of a run's recipients say, by their number; one channel. */
export async function storedStates(db: Kysely<CampaignTables>, runId: string): Promise<RecipientState[]> {
  const { rows } = await sql<{ state: RecipientState }>`
    select state from recipients where run_id = ${runId} order by seq`.execute(db);
  return rows.map(({ state }) => state);
}

/** What the counters of its shards say. Pending recipients are not counted. */
export async function countedStates(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<Partial<Record<RecipientState, number>>> {
  const { rows } = await sql<{ state: RecipientState; count: number }>`
    select state, sum(count)::int as count from shard_counts where run_id = ${runId}
    group by state having sum(count) <> 0`.execute(db);
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
