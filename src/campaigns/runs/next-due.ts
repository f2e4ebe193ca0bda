import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { CampaignTables } from '../model/tables';

/**
 * When the first waiting recipient of each channel becomes due, read from the partial index of waiting
 * recipients. Calls that wait for a redial are left out, because their own workflows wake for them.
 */
export async function firstDue(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<{ channel: Channel; at: Date }[]> {
  const { rows } = await sql<{ channel: Channel; at: Date }>`
    select s.channel, min(first.retry_at) as at from shards s cross join lateral (
      select w.retry_at from recipients w
      where w.run_id = s.run_id and w.channel = s.channel and w.shard = s.shard and w.waits
        and w.retry_at is not null and (w.channel <> 'voice' or w.call_from > w.attempt)
      order by w.retry_at limit 1
    ) first
    where s.run_id = ${runId} group by s.channel`.execute(db);
  return rows;
}
