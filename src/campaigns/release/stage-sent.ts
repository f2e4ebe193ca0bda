import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { readCounts } from '../runs/ledger-counts';
import { drawOf, FIRST_PLACE, type ReleaseStanding } from './release-rows';

/** What keeps a stage from being sent; `untilMs` when it does so no longer than that. */
export type Hold = { kind: 'sent' } | { kind: 'held'; waitMs?: number };

interface HoldContext {
  /** Whether the service reports more than that it took a message. */
  tellsMore: boolean;
  /** Channels that are closed at this hour for all recipients. */
  closed: readonly Channel[];
  /** The run goes from channel to channel. */
  goesInTurns: boolean;
}

/**
 * Whether each recipient of the stage was handed over once or has ended. A recipient that waits for its hours, a window,
 * a place under the caps, its turn or a retry of what was never handed over holds the stage for an hour at most; one that
 * is due holds it until it was sent, and a call while it rings, or for an hour where nothing was heard of it. Recipients
 * of earlier stages hold it only while a message of theirs is on its way, which does not last.
 */
export async function stageHold(
  db: Kysely<CampaignTables>,
  runId: string,
  { stage, begunAt, now }: Pick<ReleaseStanding, 'stage' | 'begunAt' | 'now'>,
  { tellsMore, closed, goesInTurns }: HoldContext,
): Promise<Hold> {
  const counts = await readCounts(db, runId);
  for (const channel of CHANNELS) {
    const { accepted = 0, sending = 0, pending = 0 } = counts[channel] ?? {};
    if (pending > 0 || (tellsMore && accepted > 0)) return { kind: 'held' };
    if (channel === 'voice' && sending > 0) {
      const { past, leftMs } = await pastRinging(db, runId);
      if (sending > past) return { kind: 'held', ...(leftMs !== null && { waitMs: leftMs }) };
    } else if (sending > 0) return { kind: 'held' };
  }
  if (CHANNELS.every((channel) => !counts[channel]?.waiting)) return { kind: 'sent' };
  const waiting = await waitingOf(db, runId, { stage, now }, { closed, goesInTurns });
  if (waiting.due) return { kind: 'held' };
  const leftMs = (begunAt ?? now).getTime() + LIMITS.stageHeldMs - now.getTime();
  return waiting.later && leftMs > 0 ? { kind: 'held', waitMs: leftMs } : { kind: 'sent' };
}

/**
 * Calls that were answered, and further ones to a recipient: their recipients were handed over before. A call whose answer
 * was lost is not asked for again while its hours are closed. So after an hour one of which nothing was heard counts too,
 * as a retry does; `leftMs` is the time until the next such call does.
 */
async function pastRinging(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<{ past: number; leftMs: number | null }> {
  const isPast = sql`(answered_at is not null or attempt > 1)`;
  const countsAt = sql`placed_at + ${LIMITS.stageHeldMs} * interval '1 millisecond'`;
  const { rows } = await sql<{ past: number; leftMs: number | null }>`
    select
      count(*) filter (where ${isPast} or (heard_at is null and ${countsAt} <= clock_timestamp()))::int as past,
      min(extract(epoch from ${countsAt} - clock_timestamp()) * 1000)
        filter (where not ${isPast} and heard_at is null and ${countsAt} > clock_timestamp())::float8 as "leftMs"
    from calls where run_id = ${runId} and live and ended_at is null`.execute(db);
  return rows[0] ?? { past: 0, leftMs: null };
}

/**
 * Whether recipients of the stage that were never handed over are due, and whether some wait for longer. On a channel that
 * is closed at this hour none is due. Shard by shard, so that the index of those who wait is read by its beginning only:
 * those of later stages are in it too, without an hour.
 */
async function waitingOf(
  db: Kysely<CampaignTables>,
  runId: string,
  { stage, now }: Pick<ReleaseStanding, 'stage' | 'now'>,
  { closed, goesInTurns }: Pick<HoldContext, 'closed' | 'goesInTurns'>,
): Promise<{ due: boolean; later: boolean }> {
  const place = drawOf(runId, sql`r.contact_id`);
  const upto = (of: number) => sql`coalesce((
    select upto from run_stages where run_id = ${runId} and stage = ${of}::int), ${FIRST_PLACE}::uuid)`;
  const isOfStage = sql`${place} > ${upto(stage - 1)} and ${place} <= ${upto(stage)}`;
  const waits = sql`r.run_id = s.run_id and r.channel = s.channel and r.shard = s.shard and r.state = 'waiting' and r.waits`;
  // In turns, this reads all that wait for a later stage too, as each look at whose turn it is does.
  const isClosed = sql`s.channel = any(${[...closed]}::text[])`;
  const { rows } = await sql<{ due: boolean; later: boolean }>`
    select
      coalesce(bool_or(not ${isClosed} and exists (
        select from recipients r
        where ${waits} and r.retry_at <= ${now.toISOString()}::timestamptz and r.attempt = 0 and ${isOfStage})), false) as due,
      coalesce(bool_or(exists (
        select from recipients r
        where ${waits} and r.retry_at is not null and r.attempt = 0 and ${isOfStage}
      ) or (${goesInTurns}::bool and exists (
        select from recipients r
        where ${waits} and r.retry_at is null and r.turn > 0 and r.code = ${EARLIER_CHANNEL} and ${isOfStage}
      ))), false) as later
    from shards s where s.run_id = ${runId}`.execute(db);
  return rows[0] ?? { due: false, later: false };
}
