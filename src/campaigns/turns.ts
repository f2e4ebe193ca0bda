import { type Kysely, sql, type Transaction } from 'kysely';
import { CHANNELS, type Channel } from '../domain/channel';
import { REACHED_BEFORE, standings } from '../domain/fallback';
import { LIMITS } from '../domain/limits';
import { addToCounts } from './ledger';
import type { ShardRef } from './run-end';
import { readControl } from './runs';
import type { CampaignTables } from './tables';

/**
 * Whose turn has come, in a run that goes from channel to channel (domain/fallback.ts; decision 10). The
 * recipients of later channels are frozen as `waiting` without an hour, so that no page takes them. A look gives
 * those their hour whose earlier channel had no success, and cancels those whose earlier channel had; it
 * decides by what stands in the ledger alone, so one that is lost is made up for by the next.
 */
export interface TurnRule {
  runId: string;
  /** In the campaign's order. */
  channels: readonly Channel[];
  afterMs: number;
  tellsMore: boolean;
}

/** Answers the shards that have something to send now, or nobody to wait for any more. */
export async function giveTurns(db: Kysely<CampaignTables>, rule: TurnRule): Promise<ShardRef[]> {
  const { rows: shards } = await sql<ShardRef>`
    select channel, shard from shard_counts
    where run_id = ${rule.runId} and state = 'waiting' and count > 0 and channel <> ${rule.channels[0] ?? ''}
    order by channel, shard`.execute(db);
  const changed: ShardRef[] = [];
  for (const shard of shards) {
    let moved = 0;
    for (let last = Number.POSITIVE_INFINITY; last >= LIMITS.turnsAtOnce; moved += last) {
      last = await db.transaction().execute((tx) => turnShard(tx, rule, shard));
    }
    if (moved > 0) changed.push(shard);
  }
  return changed;
}

/**
 * One transaction. The shard's row is locked as by whoever opens a page: a recipient who is in no page now
 * gets into none before this is done.
 */
async function turnShard(
  tx: Transaction<CampaignTables>,
  rule: TurnRule,
  { channel, shard }: ShardRef,
): Promise<number> {
  const { runId, afterMs } = rule;
  if ((await readControl(tx, runId)) !== 'run') return 0;
  const turn = rule.channels.indexOf(channel);
  await sql`
    select from shards where run_id = ${runId} and channel = ${channel} and shard = ${shard} for update`.execute(
    tx,
  );
  const { rows } = await sql<{ moved: number }>`
    with judged as (
      select r.seq, r.retry_at, e.reached, e.standing, e.since
      from recipients r cross join lateral (
        select bool_or(told.standing = 'reached') as reached,
          (array_agg(told.standing order by told.turn desc))[1] as standing,
          (array_agg(told.since order by told.turn desc))[1] as since
        from (
          select e.turn, ${standing(rule)} as standing, ${since} as since from recipients e
          where e.run_id = ${runId} and e.contact_id = r.contact_id and e.turn < ${turn}::int
        ) told
      ) e
      where r.run_id = ${runId} and r.channel = ${channel} and r.shard = ${shard}
        and r.state = 'waiting' and r.code is distinct from 'answer_lost' and r.seq <> all (coalesce((
          select array_agg(claimed) from pages, unnest(seqs) claimed
          where run_id = ${runId} and channel = ${channel} and shard = ${shard}), '{}'))
    ), turned as (
      select seq, coalesce(reached, false) as reached from judged
      where reached or (retry_at is null and (standing is null or standing = 'over'
        or (standing = 'counting' and since <= clock_timestamp() - ${afterMs} * interval '1 millisecond')))
      limit ${LIMITS.turnsAtOnce}
    ), written as (
      update recipients r set
        state = case when turned.reached then 'canceled' else 'waiting' end,
        code = case when turned.reached then ${REACHED_BEFORE} end,
        due_at = case when turned.reached then r.due_at else greatest(r.due_at, now()) end,
        retry_at = case when turned.reached then null else greatest(r.due_at, now()) end,
        updated_at = now()
      from turned where r.run_id = ${runId} and r.channel = ${channel} and r.seq = turned.seq and r.state = 'waiting'
      returning r.run_id, r.channel, r.shard, 'waiting' as old_state, r.state as new_state
    ), counted as (
      ${addToCounts}
    )
    select count(*)::int as moved from written`.execute(tx);
  return rows[0]?.moved ?? 0;
}

/** The table of domain/fallback.ts over `e`, whose state may be a derived one (ledger.ts). */
function standing({ tellsMore }: TurnRule) {
  const cases = CHANNELS.flatMap((channel) =>
    standings(channel, tellsMore).map(
      ([state, meaning]) => `when e.channel = '${channel}' and state.derived = '${state}' then '${meaning}'`,
    ),
  );
  return sql`(select case ${sql.raw(cases.join(' '))} end from (select ${derived} as derived) state)`;
}

/** Of a page that was taken on and has not recorded somebody: he is being sent to. */
const derived = sql`case when e.state <> 'pending' then e.state else (
  select case
    when e.seq >= s.next_seq then 'pending'
    when e.channel = 'voice' then 'sending'
    when exists (select from pages p where p.run_id = e.run_id and p.channel = e.channel and p.shard = e.shard
      and p.seqs is null and e.seq >= p.from_seq + p.resolved and e.seq < p.to_seq) then 'sending'
    else 'accepted' end
  from shards s where s.run_id = e.run_id and s.channel = e.channel and s.shard = e.shard) end`;

/** When it was handed over; of a call that is in the air, when it was placed. */
const since = sql`case when e.channel = 'voice' and e.state = 'sending' then coalesce((
    select c.placed_at from calls c where c.run_id = e.run_id and c.seq = e.seq and c.attempt = e.attempt
  ), e.updated_at) else e.updated_at end`;
