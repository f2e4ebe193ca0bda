import { sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { RecipientState } from '../../domain/recipient';
import type { CampaignTables } from '../tables';
import { addToCounts, rank } from './count-moves';

/** What a chunk came to for one recipient. `accepted` needs no row on a page of first sends. */
export interface RecipientResult {
  seq: number;
  state: Exclude<RecipientState, 'pending' | 'sending'>;
  code?: string | undefined;
  /** When to try again, for `waiting`. */
  retryAt?: Date | undefined;
  /** Whether this counted as an attempt. */
  attempted: boolean;
  /** The attempt this is the result of: it is void when the feed has given the recipient another since. */
  attempt?: number | undefined;
  /** For `waiting`: the service may have the message, so that the next one needs a uid of its own. */
  anew?: boolean | undefined;
}

/**
 * Recipients are found by all of their key in `result`, never by the run as a parameter: of one that was frozen
 * a moment ago the planner knows nothing, takes it for a few rows, and would read all of it for every chunk.
 */
export async function writeResults(
  tx: Transaction<CampaignTables>,
  page: { runId: string; channel: Channel },
  results: readonly RecipientResult[],
): Promise<void> {
  await sql`
    with result as materialized (
      select ${page.runId}::text as run_id, ${page.channel}::text as channel, t.* from unnest(
        ${results.map((r) => r.seq)}::int[], ${results.map((r) => r.state)}::text[],
        ${results.map((r) => r.code ?? null)}::text[],
        ${results.map((r) => r.retryAt?.toISOString() ?? null)}::timestamptz[],
        ${results.map((r) => (r.attempted ? 1 : 0))}::int[], ${results.map((r) => r.attempt ?? null)}::int[],
        ${results.map((r) => r.anew ?? false)}::bool[]) as t(seq, state, code, retry_at, attempted, attempt, anew)
    ), old as (
      select r.run_id, r.channel, r.seq, r.state from recipients r join result using (run_id, channel, seq)
      where ${rank('result.state')} >= ${rank('r.state')}
        and r.attempt = coalesce(result.attempt, r.attempt)
      for update of r
    ), written as (
      update recipients r
      set state = result.state, code = result.code, retry_at = result.retry_at,
          attempts = r.attempts + result.attempted, updated_at = now(),
          attempt = r.attempt + case when result.anew then 1 else 0 end,
          doubts = case when result.anew then array_append(r.doubts, r.attempt) else r.doubts end
      from result, old
      where r.run_id = old.run_id and r.channel = old.channel and r.seq = old.seq and result.seq = old.seq
      returning r.run_id, r.channel, r.shard, old.state as old_state, r.state as new_state
    )
    ${addToCounts}`.execute(tx);
}
