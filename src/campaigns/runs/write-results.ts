import { sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { RecipientState } from '../../domain/recipient';
import { moveRecipients } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';

/** The result of a chunk for one recipient. On a page of first sends, `accepted` needs no row. */
export interface RecipientResult {
  seq: number;
  state: Exclude<RecipientState, 'pending' | 'sending'>;
  code?: string | undefined;
  /** When to try again, for `waiting`. */
  retryAt?: Date | undefined;
  /** Whether this counted as an attempt. */
  attempted: boolean;
  /**
   * The attempt that this is the result of. The result is void when the feed has given the recipient another
   * attempt since.
   */
  attempt?: number | undefined;
  /** For `waiting`: the service may have the message, so that the next attempt needs a new uid. */
  anew?: boolean | undefined;
}

export async function writeResults(
  tx: Transaction<CampaignTables>,
  page: { runId: string; channel: Channel },
  results: readonly RecipientResult[],
): Promise<void> {
  await moveRecipients(tx, {
    scope: page,
    rule: 'result',
    rows: sql`
      select ${page.runId}::text as run_id, ${page.channel}::text as channel, t.* from unnest(
        ${results.map((r) => r.seq)}::int[], ${results.map((r) => r.state)}::text[],
        ${results.map((r) => r.code ?? null)}::text[],
        ${results.map((r) => r.retryAt?.toISOString() ?? null)}::timestamptz[],
        ${results.map((r) => (r.attempted ? 1 : 0))}::int[], ${results.map((r) => r.attempt ?? null)}::int[],
        ${results.map((r) => r.anew ?? false)}::bool[]) as t(seq, state, code, retry_at, attempted, attempt, anew)`,
    when: sql`r.attempt = coalesce(result.attempt, r.attempt)`,
    set: {
      code: sql`result.code`,
      retry_at: sql`result.retry_at`,
      attempts: sql`r.attempts + result.attempted`,
      attempt: sql`r.attempt + case when result.anew then 1 else 0 end`,
      doubts: sql`case when result.anew then array_append(r.doubts, r.attempt) else r.doubts end`,
    },
  });
}
