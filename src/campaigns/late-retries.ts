import { sql, type Transaction } from 'kysely';
import { addToCounts } from './ledger';
import type { CampaignTables } from './tables';

/**
 * Ends retries that the event feed gave out between the last look at a run's counts and its closing: there is
 * nobody left to send them. They become again what gave them their retry: failed, or in doubt.
 */
export async function endLateRetries(tx: Transaction<CampaignTables>, runId: string): Promise<void> {
  await sql`
    with old as (
      select channel, seq from recipients
      where run_id = ${runId} and channel <> 'voice' and state = 'waiting' for update
    ), written as (
      update recipients r
      set state = case when r.code = 'answer_lost' then 'unknown' else 'failed' end,
        attempt = greatest(r.attempt - 1, 0), retry_at = null, updated_at = now()
      from old where r.run_id = ${runId} and r.channel = old.channel and r.seq = old.seq
      returning r.run_id, r.channel, r.shard, 'waiting' as old_state, r.state as new_state
    )
    ${addToCounts}`.execute(tx);
}
