import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { RECIPIENT_STATES, type RecipientState } from '../../domain/recipient';
import type { CampaignTables } from '../model/tables';
import { readCounts } from '../runs/ledger-counts';

/** How many recipients entered each state from `at` on, until the next point. */
export type TimelinePoint = { at: Date } & Partial<Record<RecipientState, number>>;

export interface ChannelTimeline {
  stepSeconds: number;
  points: TimelinePoint[];
}

export type RunTimeline = Partial<Record<Channel, ChannelTimeline>>;

/**
 * A run from its start to now, or to its end, in steps of one length. It reads the counters that the ledger keeps
 * (ledger/timeline.ts), never a recipient.
 */
export async function readTimeline(
  db: Kysely<CampaignTables>,
  runId: string | undefined,
  points: number,
): Promise<RunTimeline> {
  const run = runId === undefined ? undefined : await readSpan(db, runId);
  if (!run) return {};
  const stepSeconds = Math.max(1, Math.ceil((run.to - run.from) / points));
  const steps = Math.max(1, Math.ceil((run.to - run.from) / stepSeconds));
  const counted = [
    ...(await readSteps(db, run, stepSeconds, steps)),
    ...(await canceledUnsent(db, run, steps)),
  ];
  const timeline: RunTimeline = {};
  for (const channel of CHANNELS) {
    if (!run.channels.includes(channel)) continue;
    const ofChannel = counted.filter((one) => one.channel === channel);
    timeline[channel] = { stepSeconds, points: pointsOf(ofChannel, run.from, stepSeconds, steps) };
  }
  return timeline;
}

interface Span {
  id: string;
  channels: Channel[];
  /** Seconds since 1970: of the start, and of the first that is not shown. */
  from: number;
  to: number;
  isCanceled: boolean;
}

interface Counted {
  channel: Channel;
  state: RecipientState;
  step: number;
  n: number;
}

/**
 * Receipts come after a run's end too. They are shown where they came, until the run has taken twice its time or ten
 * minutes more; the last point has those that come later, because one of next week would make the rest a dot.
 */
async function readSpan(db: Kysely<CampaignTables>, runId: string): Promise<Span | undefined> {
  const { rows } = await sql<Span>`
    select r.id, c.channels, r.phase = 'canceled' or r.control = 'cancel' as "isCanceled",
      started as "from", case when r.finished_at is null then present
        else greatest(finished, least(last_entry, finished + greatest(600, finished - started))) end + 1 as "to"
    from runs r join campaigns c on c.id = r.campaign_id
    cross join lateral (
      select floor(extract(epoch from r.started_at))::int8 as started, floor(extract(epoch from now()))::int8 as present,
        floor(extract(epoch from r.finished_at))::int8 as finished,
        (select max(second) from run_timeline where run_id = r.id) as last_entry
    ) times
    where r.id = ${runId}`.execute(db);
  return rows[0];
}

async function readSteps(
  db: Kysely<CampaignTables>,
  { id, from }: Span,
  stepSeconds: number,
  steps: number,
): Promise<Counted[]> {
  const { rows } = await sql<Counted>`
    select channel, state, sum(count)::int as n,
      greatest(0, least(${steps - 1}::int8, (second - ${from}::int8) / ${stepSeconds}::int8))::int as step
    from run_timeline where run_id = ${id} group by channel, state, step`.execute(db);
  return rows;
}

/** Recipients that no page had taken when the run was canceled have no row that says so; the counts know them. */
async function canceledUnsent(
  db: Kysely<CampaignTables>,
  { id, isCanceled }: Span,
  steps: number,
): Promise<Counted[]> {
  if (!isCanceled) return [];
  const counts = await readCounts(db, id);
  const stored = await db
    .selectFrom('shard_counts')
    .select((on) => ['channel', on.fn.sum<number>('count').as('n')])
    .where('run_id', '=', id)
    .where('state', '=', 'canceled')
    .groupBy('channel')
    .execute();
  return CHANNELS.flatMap((channel) => {
    const known = Number(stored.find((one) => one.channel === channel)?.n ?? 0);
    const n = (counts[channel]?.canceled ?? 0) - known;
    return n > 0 ? [{ channel, state: 'canceled' as const, step: steps - 1, n }] : [];
  });
}

function pointsOf(
  counted: readonly Counted[],
  from: number,
  stepSeconds: number,
  steps: number,
): TimelinePoint[] {
  const states = RECIPIENT_STATES.filter((state) => counted.some((one) => one.state === state));
  const zeros = Object.fromEntries(states.map((state) => [state, 0]));
  const points = Array.from({ length: steps }, (_, step): TimelinePoint => {
    return { at: new Date((from + step * stepSeconds) * 1_000), ...zeros };
  });
  for (const { state, step, n } of counted) {
    const point = points[step];
    if (point) point[state] = (point[state] ?? 0) + n;
  }
  return points;
}
