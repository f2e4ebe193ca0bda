import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { RECIPIENT_STATES, type RecipientState } from '../../domain/recipient';
import type { CampaignTables } from '../model/tables';

export type ChannelCounts = Record<'total' | RecipientState, number>;
export type Counts = Partial<Record<Channel, ChannelCounts>>;

interface ShardSums {
  channel: Channel;
  total: number;
  taken: number;
  /** Unrecorded recipients in open pages of first sends, and in open pages of retries. */
  sending: number;
  retrying: number;
  stored: Partial<Record<RecipientState, number>>;
  canceled: boolean;
}

/**
 * A run's counts per channel, with every state present and summing to `total`. Reads a handful of rows per
 * shard, so that it costs the same for a thousand recipients as for a million. ledger.ts explains the derived
 * states.
 */
export async function readCounts(db: Kysely<CampaignTables>, runId: string): Promise<Counts> {
  const { rows } = await sql<ShardSums>`
    select s.channel, sum(s.to_seq - s.from_seq)::int as total, sum(s.next_seq - s.from_seq)::int as taken,
      coalesce(sum(p.sending), 0)::int as sending, coalesce(sum(p.retrying), 0)::int as retrying,
      coalesce((select jsonb_object_agg(c.state, c.n) from (
        select state, sum(count)::int as n from shard_counts
        where run_id = ${runId} and channel = s.channel group by state) c), '{}') as stored,
      bool_or(r.phase = 'canceled' or r.control = 'cancel') as canceled
    from shards s
    join runs r on r.id = s.run_id
    left join lateral (
      select sum(case when seqs is null then to_seq - from_seq - resolved else 0 end) as sending,
             sum(case when seqs is null then 0 else cardinality(seqs) - resolved end) as retrying
      from pages where run_id = s.run_id and channel = s.channel and shard = s.shard
    ) p on true
    where s.run_id = ${runId} group by s.channel`.execute(db);
  const byChannel = new Map(rows.map((row) => [row.channel, deriveCounts(row)]));
  const counts: Counts = {};
  for (const channel of CHANNELS) {
    const found = byChannel.get(channel);
    if (found) counts[channel] = found;
  }
  return counts;
}

function deriveCounts(sums: ShardSums): ChannelCounts {
  const counts = Object.fromEntries(
    RECIPIENT_STATES.map((state) => [state, sums.stored[state] ?? 0]),
  ) as Record<RecipientState, number>;
  const storedOther = Object.values(sums.stored).reduce((sum, count) => sum + count, 0);
  const takenPending = sums.taken - storedOther;
  // The event feed may be faster than a page. Then fewer recipients are left than the page has yet to record.
  const sending = Math.min(sums.sending, takenPending);
  const retrying = Math.min(sums.retrying, counts.waiting);
  counts.waiting -= retrying;
  if (sums.channel === 'voice') {
    // A call counts as being made from the moment a page takes it until its workflow records otherwise.
    counts.sending += takenPending + retrying;
  } else {
    counts.sending += sending + retrying;
    counts.accepted += takenPending - sending;
  }
  counts[sums.canceled ? 'canceled' : 'pending'] += sums.total - sums.taken;
  return { total: sums.total, ...counts };
}

/** How many recipients of a run have not reached `sent`, or `accepted` at a service that reports nothing more. */
export function unsettled(counts: Counts, tellsMore: boolean): number {
  const open: RecipientState[] = [
    'pending',
    'waiting',
    'sending',
    ...(tellsMore ? (['accepted'] as const) : []),
  ];
  let sum = 0;
  for (const channel of CHANNELS) for (const state of open) sum += counts[channel]?.[state] ?? 0;
  return sum;
}

/**
 * Whether a recipient is still to be sent to, now or later. That is one who waits for a page or, if the service
 * reports outcomes, one whose message it has accepted and not handed over. A call between two attempts also
 * waits, but for its own workflow.
 */
export function hasUnsent(counts: Counts, tellsMore: boolean): boolean {
  return CHANNELS.some((channel) => {
    const { pending = 0, waiting = 0, accepted = 0 } = counts[channel] ?? {};
    return pending > 0 || (tellsMore && accepted > 0) || (waiting > 0 && channel !== 'voice');
  });
}
