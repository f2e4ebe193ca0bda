import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { readOutcomes } from '../../src/campaigns/reports/recipient-outcomes';
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

/** Where the counters of codes differ from what the rows of recipients say. */
export async function wrongCodeCounts(db: Kysely<CampaignTables>, runId: string): Promise<unknown[]> {
  const { rows } = await sql`
    select channel, state, code, sum(n)::int as off from (
      select channel, state, code, count as n from recipient_codes where run_id = ${runId}
      union all select channel, state, code, -1 from recipients where run_id = ${runId} and code is not null
    ) both_sides group by channel, state, code having sum(n) <> 0`.execute(db);
  return rows;
}

/** The outcomes of a run by the counters of codes, and by its recipients. */
export async function outcomesBothWays(db: Kysely<CampaignTables>, runId: string) {
  const read = async (counted: boolean | null) => {
    await sql`update runs set codes_counted = ${counted} where id = ${runId}`.execute(db);
    return readOutcomes(db, runId);
  };
  return { counted: await read(true), listed: await read(null) };
}
