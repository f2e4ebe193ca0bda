import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../model/tables';
import type { ShardRef } from './run-end';

/**
 * Plans when the run's shards are woken (watch/planned-launches.ts), unless it is planned sooner already. When they are
 * woken, those that must wait for longer plan it again.
 */
export async function planWake(db: Kysely<CampaignTables>, runId: string, at: Date): Promise<void> {
  await sql`
    update runs set launch_at = ${at.toISOString()}::timestamptz
    where id = ${runId} and (launch_at is null or launch_at > ${at.toISOString()}::timestamptz)`.execute(db);
}

/** The run's shards that have recipients left to send to, now or later. */
export async function unfinishedShards(db: Kysely<CampaignTables>, runId: string): Promise<ShardRef[]> {
  const { rows } = await sql<ShardRef>`
    select s.channel, s.shard from shards s
    where s.run_id = ${runId} and (s.next_seq < s.to_seq or exists (
      select from recipients r
      where r.run_id = s.run_id and r.channel = s.channel and r.shard = s.shard and r.state = 'waiting' and r.waits))
    order by s.channel, s.shard`.execute(db);
  return rows;
}
