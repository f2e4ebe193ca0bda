import { type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';

/**
 * When recipients entered their states (api.md 16). Whatever moves recipients adds to a few counters in the same
 * statement: one for each run, channel and state of the batch. So a million recipients cost some thousand updates, and
 * the reader adds up a few thousand rows.
 *
 * States that are derived and not stored (runs/ledger.ts) are counted where they begin: a freeze counts those who are
 * pending, a page those whose message the service took.
 */

/**
 * SQL: the part of a run's time that now belongs to, as the second with which it begins. A part is a second for the
 * first ten minutes and grows with the run's age, because single seconds of a run that took a day are too many for any plot.
 */
const presentPart = (startedAt: RawBuilder<unknown>) => sql`(
  select (floor(extract(epoch from now()) / width) * width)::int8 from (
    select case
      when now() < ${startedAt} + interval '10 minutes' then 1
      when now() < ${startedAt} + interval '2 hours' then 10
      when now() < ${startedAt} + interval '1 day' then 60
      else 900 end as width
  ) part)`;

/** The width of the parts at that age of a run, in seconds. A test holds it against the expression above. */
export function partSeconds(ageSeconds: number): number {
  if (ageSeconds < 600) return 1;
  if (ageSeconds < 7_200) return 10;
  return ageSeconds < 86_400 ? 60 : 900;
}

/** Calls under way at once are some hundred; each holds its row for a few milliseconds. */
const SLOTS = 8;

/**
 * SQL for a statement with the CTE `written` of ledger/move-recipients.ts. A message that was delivered or
 * undelivered had been handed over, even if the feed reported only its end.
 */
export const addToTimeline = sql`
  insert into run_timeline (run_id, channel, state, second, slot, count)
  select m.run_id, m.channel, m.state, ${presentPart(sql`runs.started_at`)}, m.slot, m.n from (
    select run_id, channel, state, shard % ${sql.lit(SLOTS)} as slot, count(*)::int as n from (
      select run_id, channel, shard, new_state as state from written where new_state <> old_state
      union all
      select run_id, channel, shard, 'sent' from written
      where channel <> 'voice' and new_state in ('delivered', 'undelivered')
        and old_state in ('pending', 'waiting', 'accepted', 'sending')
    ) entered group by run_id, channel, state, shard % ${sql.lit(SLOTS)}
  ) m join runs on runs.id = m.run_id
  order by m.run_id, m.channel, m.state, m.slot
  on conflict (run_id, channel, state, second, slot) do update set count = run_timeline.count + excluded.count`;

/** SQL: adds recipients of one shard who entered a state that is not stored, if the CTE `page` has a row. */
export function addEntered(
  { runId, channel, shard }: { runId: string; channel: Channel; shard: number },
  state: 'pending' | 'waiting' | 'accepted',
  count: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    insert into run_timeline (run_id, channel, state, second, slot, count)
    select ${runId}, ${channel}, ${state}, ${presentPart(sql`runs.started_at`)}, ${shard % SLOTS}::int, given.n
    from runs, (select ${count}::int as n) given
    where runs.id = ${runId} and given.n > 0
    on conflict (run_id, channel, state, second, slot) do update set count = run_timeline.count + excluded.count`;
}
