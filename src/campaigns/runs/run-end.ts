import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { isWanted } from './fallback-wanted';
import { lockCampaignOf, moveRun } from './runs';

/** One shard of a run. */
export interface ShardRef {
  channel: Channel;
  shard: number;
}

/** The shards of a run whose audience is frozen completely on all channels; otherwise undefined. */
export async function frozenShards(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<ShardRef[] | undefined> {
  if (await isFreezing(db, runId)) return undefined;
  const shards = await standingShards(db, runId);
  const { channels } = await db
    .selectFrom('runs')
    .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
    .select('campaigns.channels')
    .where('runs.id', '=', runId)
    .executeTakeFirstOrThrow();
  return channels.every((channel) => shards.some((shard) => shard.channel === channel)) ? shards : undefined;
}

/** The shards of a run that may be sent, even while others are still being filled. */
export async function standingShards(db: Kysely<CampaignTables>, runId: string): Promise<ShardRef[]> {
  return db
    .selectFrom('shards')
    .select(['channel', 'shard'])
    .where('run_id', '=', runId)
    .orderBy('channel')
    .orderBy('shard')
    .execute();
}

async function isFreezing(db: Kysely<CampaignTables>, runId: string): Promise<boolean> {
  const { rows } = await sql<{ freezing: boolean }>`select ${unfinishedFreeze(runId)} as freezing`.execute(
    db,
  );
  return rows[0]?.freezing === true;
}

/** SQL: whether the freeze of the run's audience has contacts left. */
export const unfinishedFreeze = (runId: string) =>
  sql<boolean>`exists (select from audience_freezes where run_id = ${runId} and finished_at is null)`;

/**
 * Shards that have something to send now; with `overdueMs`, those whose retries were due that long ago. It must
 * agree with `takePage` (ledger.ts), which opens no page on a channel that is closed at this hour. Otherwise a
 * shard that finds nothing would be started for ever.
 */
export async function dueShards(
  db: Kysely<CampaignTables>,
  runId: string,
  { overdueMs, closed = [] }: { overdueMs?: number; closed?: readonly Channel[] } = {},
): Promise<ShardRef[]> {
  const hasPage = sql`exists (
    select from pages p where p.run_id = s.run_id and p.channel = s.channel and p.shard = s.shard)`;
  // A shard with an open page is awake, and takes its retries next.
  const isOpen = sql`s.channel <> all(${[...closed]}::text[])`;
  const condition =
    overdueMs === undefined
      ? sql`${hasPage} or (${isOpen} and (s.next_seq < s.to_seq or ${hasRetries(0)}))`
      : sql`${isOpen} and not ${hasPage} and ${hasRetries(overdueMs)}`;
  const { rows } = await sql<ShardRef>`
    select s.channel, s.shard from shards s
    where s.run_id = ${runId} and (
      ${condition}) order by s.channel, s.shard`.execute(db);
  return rows;
}

const hasRetries = (overdueMs: number) => sql`exists (
  select from recipients r
  where r.run_id = s.run_id and r.channel = s.channel and r.shard = s.shard
    and r.state = 'waiting' and r.waits and r.retry_at <= now() - ${overdueMs} * interval '1 millisecond'
    and (r.channel <> 'voice' or r.call_from > r.attempt) and ${isWanted('r')})`;

/** How long due retries are gathered before shards are started for them. */
export async function gatherMs(db: Kysely<CampaignTables>, runId: string): Promise<number> {
  const { started_at: startedAt } = await db
    .selectFrom('runs')
    .select('started_at')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  return Math.min(LIMITS.gatherMaxMs, LIMITS.gatherShare * Math.max(0, databaseNow() - startedAt.getTime()));
}

/**
 * Closes a run. Returns false, and the run stays open, when it was to be completed and a recipient was put back
 * since it was found settled. The same holds when it has settled or failed and the operator wants it canceled, because
 * they were answered that it is. All of these changes lock the run's row, so that one of them comes first. A superseded
 * launch changes nothing.
 */
export async function closeRun(
  db: Kysely<CampaignTables>,
  runId: string,
  phase: 'completed' | 'canceled' | 'failed',
  reason: string | undefined,
  launch?: number,
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    await lockCampaignOf(tx, runId);
    const run = await tx
      .selectFrom('runs')
      .select(['control', 'launches'])
      .where('id', '=', runId)
      .forUpdate()
      .executeTakeFirst();
    if (!run || (launch !== undefined && launch !== run.launches)) return true;
    if (phase !== 'canceled' && run.control === 'cancel') return false;
    if (phase === 'completed' && (await hasUnsent(tx, runId))) return false;
    await handOver(tx, runId);
    await moveRun(tx, runId, phase, reason);
    return true;
  });
}

/**
 * A schedule's last occurrence may end before an earlier one. The campaign then takes the phase of the earlier
 * one, which continues. Before the last one it does so when the earlier one stands paused, because nothing else
 * would say that it does.
 */
async function handOver(tx: Kysely<CampaignTables>, runId: string): Promise<void> {
  await sql`
    update campaigns c set current_run = other.id, updated_at = now()
    from runs ending cross join lateral (
      select id, control from runs where campaign_id = ending.campaign_id and id <> ending.id
        and phase in ('planning', 'running', 'finishing') order by number desc limit 1
    ) other
    where ending.id = ${runId} and c.id = ending.campaign_id and c.current_run = ending.id
      and (c.stage = 'started' or (c.stage = 'scheduled' and other.control = 'pause'))`.execute(tx);
}

async function hasUnsent(db: Kysely<CampaignTables>, runId: string): Promise<boolean> {
  const { rows } = await sql<{ unsent: boolean }>`
    select exists (
      select from shards where run_id = ${runId} and next_seq < to_seq
    ) or exists (
      select from shard_counts where run_id = ${runId} and state = 'waiting' and count > 0
    ) or ${unfinishedFreeze(runId)} as unsent`.execute(db);
  return rows[0]?.unsent === true;
}
