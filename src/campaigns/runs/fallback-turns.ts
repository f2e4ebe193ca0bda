import { type Kysely, sql, type Transaction } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { REACHED_BEFORE, standings } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import { LATER_STAGE } from '../../domain/release';
import { moveRecipients } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';
import type { ShardRef } from './run-end';
import { readControl } from './runs';

/**
 * Opens the next channel for recipients of a run that goes from channel to channel (domain/fallback.ts;
 * decision 10). Recipients of later channels are frozen as `waiting` without a time, so that no page takes
 * them. A look gives them a time when their earlier channel had no success, and cancels them when it had. It
 * decides by the ledger alone, so the next look makes up for a lost one.
 */
export interface TurnRule {
  runId: string;
  /** In the campaign's order. */
  channels: readonly Channel[];
  afterMs: number;
  tellsMore: boolean;
}

export interface OpenedTurns {
  /** Shards that have something to send now, or that have nothing left to wait for. */
  shards: ShardRef[];
  /** When the next channel opens by time alone. Without it, only an outcome can open one. */
  nextAtMs?: number;
}

export async function openFallbackTurns(db: Kysely<CampaignTables>, rule: TurnRule): Promise<OpenedTurns> {
  const { rows: shards } = await sql<ShardRef>`
    select channel, shard from shard_counts
    where run_id = ${rule.runId} and state = 'waiting' and count > 0 and channel <> ${rule.channels[0] ?? ''}
    order by channel, shard`.execute(db);
  const changed: ShardRef[] = [];
  let nextAtMs: number | undefined;
  for (const shard of shards) {
    let moved = 0;
    for (let after: number | null = -1; after !== null; ) {
      const from: number = after;
      const window: Window = await db.transaction().execute((tx) => turnWindow(tx, rule, shard, from));
      moved += window.moved;
      after = window.after;
      for (const since of window.counting) {
        nextAtMs = Math.min(nextAtMs ?? Number.POSITIVE_INFINITY, since.getTime() + rule.afterMs);
      }
    }
    if (moved > 0) changed.push(shard);
  }
  return nextAtMs === undefined ? { shards: changed } : { shards: changed, nextAtMs };
}

interface Window {
  moved: number;
  /** For recipients whose next channel opens by time alone: since when their earlier channel has been waited for. */
  counting: Date[];
  /** The last recipient that was read; null when none is left. */
  after: number | null;
}

interface Judged {
  seq: number;
  reached: boolean;
  /** Whether the recipient changes. */
  turns: boolean | null;
  /** Since when the run waits for the earlier channel; null once that time is over. */
  counting: Date | null;
}

/**
 * Judges the next waiting recipients in one transaction. It locks the shard's row, as opening a page does, so
 * that no page takes a recipient in the meantime. The planner has no statistics for rows that were frozen a
 * moment ago. `limit` and `materialized` keep it from joining all waiting recipients with one another.
 */
async function turnWindow(
  tx: Transaction<CampaignTables>,
  rule: TurnRule,
  { channel, shard }: ShardRef,
  after: number,
): Promise<Window> {
  const { runId, afterMs } = rule;
  if ((await readControl(tx, runId)) !== 'run') return { moved: 0, counting: [], after: null };
  const turn = rule.channels.indexOf(channel);
  await sql`
    select from shards where run_id = ${runId} and channel = ${channel} and shard = ${shard} for update`.execute(
    tx,
  );
  const { rows } = await sql<Judged>`
    with candidate as materialized (
      select r.seq, r.contact_id, r.retry_at from recipients r
      where r.run_id = ${runId} and r.channel = ${channel} and r.shard = ${shard} and r.seq > ${after}
        and r.state = 'waiting' and r.waits and r.code is distinct from 'answer_lost'
        and r.code is distinct from ${LATER_STAGE} and r.seq <> all (coalesce((
          select array_agg(claimed) from pages, unnest(seqs) claimed
          where run_id = ${runId} and channel = ${channel} and shard = ${shard}), '{}'))
      order by r.seq limit ${LIMITS.turnsAtOnce}
    ), judged as (
      select r.seq, r.retry_at, e.reached, e.standing, e.since
      from candidate r cross join lateral (
        select bool_or(told.standing = 'reached') as reached,
          (array_agg(told.standing order by told.turn desc))[1] as standing,
          (array_agg(told.since order by told.turn desc))[1] as since
        from (
          select e.turn, ${standing(rule)} as standing, ${since} as since from recipients e
          where e.run_id = ${runId} and e.contact_id = r.contact_id and e.turn < ${turn}::int
        ) told
      ) e
    )
    select seq, coalesce(reached, false) as reached, reached or (retry_at is null and (standing is null
      or standing = 'over' or (standing = 'counting'
        and since <= clock_timestamp() - ${afterMs} * interval '1 millisecond'))) as turns,
      case when standing = 'counting' and retry_at is null then since end as counting
    from judged order by seq`.execute(tx);
  const turned = rows.filter(({ turns }) => turns);
  if (turned.length) await writeTurns(tx, runId, channel, turned);
  const last = rows.length < LIMITS.turnsAtOnce ? undefined : rows.at(-1);
  const counting = rows.flatMap((row) => (row.counting && !row.turns ? [row.counting] : []));
  return { moved: turned.length, counting, after: last?.seq ?? null };
}

async function writeTurns(
  tx: Transaction<CampaignTables>,
  runId: string,
  channel: Channel,
  turned: readonly Judged[],
): Promise<void> {
  const hour = sql`greatest(r.due_at, now())`;
  await moveRecipients(tx, {
    scope: { runId },
    rule: 'turn',
    rows: sql`
      select ${runId}::text as run_id, ${channel}::text as channel, seq, reached,
        case when reached then 'canceled' else 'waiting' end as state
      from unnest(${turned.map(({ seq }) => seq)}::int[], ${turned.map(({ reached }) => reached)}::bool[])
        as t(seq, reached)`,
    set: {
      code: sql`case when result.reached then ${REACHED_BEFORE} end`,
      due_at: sql`case when result.reached then r.due_at else ${hour} end`,
      retry_at: sql`case when result.reached then null else ${hour} end`,
    },
  });
}

/** The table of domain/fallback.ts as SQL over `e`, whose state may be a derived one (ledger.ts). */
function standing({ tellsMore }: TurnRule) {
  const cases = CHANNELS.flatMap((channel) =>
    standings(channel, tellsMore).map(
      ([state, meaning]) => `when e.channel = '${channel}' and state.derived = '${state}' then '${meaning}'`,
    ),
  );
  return sql`(select case ${sql.raw(cases.join(' '))} end from (select ${derived} as derived) state)`;
}

/**
 * SQL: when the call of a voice recipient that is in the air was placed; null while there is none. A recipient whose
 * workflow waits for a permit, a slot or its hours is being called by the ledger's states, and no telephone rings yet.
 */
export const placedAt = (recipient: 'e' | 'r') => {
  const column = (name: string) => sql.ref(`${recipient}.${name}`);
  return sql<Date | null>`case when ${column('channel')} = 'voice' and ${column('state')} = 'sending' then (
    select c.placed_at from calls c where c.run_id = ${column('run_id')} and c.seq = ${column('seq')}
      and c.attempt = ${column('attempt')} and c.ended_at is null) end`;
};

/** The derived state. A recipient in a page that has not recorded them yet is being sent to. */
const derived = sql`case
  when e.channel = 'voice' and e.state in ('pending', 'sending') and ${placedAt('e')} is null then 'pending'
  when e.state <> 'pending' then e.state else (
  select case
    when e.seq >= s.next_seq then 'pending'
    when exists (select from pages p where p.run_id = e.run_id and p.channel = e.channel and p.shard = e.shard
      and p.seqs is null and e.seq >= p.from_seq + p.resolved and e.seq < p.to_seq) then 'sending'
    else 'accepted' end
  from shards s where s.run_id = e.run_id and s.channel = e.channel and s.shard = e.shard) end`;

/** When the message was handed over; for a call in the air, when it was placed. */
const since = sql`coalesce(${placedAt('e')}, e.updated_at)`;
