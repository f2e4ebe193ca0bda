import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { RecipientState } from '../../domain/recipient';
import type { CampaignTables } from '../model/tables';
import type { RecipientPosition } from './recipients';

/** A stretch of a run's recipients on one channel: seq in [from, to). */
export interface Span {
  channel: Channel;
  from: number;
  to: number;
}

interface ShardRow {
  channel: Channel;
  from_seq: number;
  to_seq: number;
  next_seq: number;
  /** Stored states with a recipient in this shard; `pending` is never counted. */
  stored: RecipientState[];
  /** Recipients that a page took and whose row says nothing yet. */
  unrecorded: boolean;
  has_page: boolean;
  canceled: boolean;
}

export interface SpanFilter {
  state?: RecipientState | undefined;
  channel?: Channel | undefined;
  after?: RecipientPosition | undefined;
}

/**
 * Where recipients in a state can be, in the order of a listing, by the counters of the shards. A run of a million has at
 * most some hundred shards, so that this costs the same for every run. Without a state, all of the run.
 */
export async function spansHolding(
  db: Kysely<CampaignTables>,
  runId: string,
  { state, channel, after }: SpanFilter,
): Promise<Span[]> {
  const { rows } = await sql<ShardRow>`
    select s.channel, s.from_seq, s.to_seq, s.next_seq,
      coalesce(c.states, '{}') as stored,
      s.next_seq - s.from_seq <> coalesce(c.n, 0) as unrecorded,
      exists (select 1 from pages p
        where p.run_id = s.run_id and p.channel = s.channel and p.shard = s.shard) as has_page,
      (r.phase = 'canceled' or r.control = 'cancel') as canceled
    from shards s
    join runs r on r.id = s.run_id
    left join lateral (
      select array_agg(state) filter (where count > 0) as states, sum(count) as n from shard_counts
      where run_id = s.run_id and channel = s.channel and shard = s.shard
    ) c on true
    where s.run_id = ${runId} and ${channel ? sql`s.channel = ${channel}` : sql`true`}
      and ${after ? sql`(s.channel, s.to_seq - 1) > (${after.channel}, ${after.seq})` : sql`true`}
    order by s.channel, s.from_seq`.execute(db);
  const spans: Span[] = [];
  for (const row of rows) {
    const span = spanOf(row, state);
    if (after && row.channel === after.channel) span.from = Math.max(span.from, after.seq + 1);
    if (span.from < span.to) append(spans, span);
  }
  return spans;
}

/** The part of a shard in which the state can be (ledger/derived-state.ts). */
function spanOf(shard: ShardRow, state: RecipientState | undefined): Span {
  const { channel, from_seq: from, to_seq: to, next_seq: next, stored, canceled } = shard;
  const holds = (isSo: boolean): Span => ({ channel, from, to: isSo ? to : from });
  if (state === undefined) return holds(true);
  if (stored.includes(state)) return holds(true);
  switch (state) {
    case 'pending':
      return canceled ? holds(false) : { channel, from: next, to };
    case 'canceled':
      return canceled ? { channel, from: next, to } : holds(false);
    case 'sending':
      return holds(shard.has_page || (channel === 'voice' && shard.unrecorded));
    case 'accepted':
      return holds(channel !== 'voice' && shard.unrecorded);
    default:
      return holds(false);
  }
}

/** Neighbours become one, so that a listing without a filter is read by one statement. */
function append(spans: Span[], span: Span): void {
  const last = spans.at(-1);
  if (last && last.channel === span.channel && last.to === span.from) last.to = span.to;
  else spans.push(span);
}
