import { type RawBuilder, sql } from 'kysely';

/**
 * Counters of stored states and codes of a run's recipients. Whatever changes a state or a code changes the counter in
 * the same statement. A recipient without a code changes none, and nearly all are without one.
 */

/** Shards that share a counter wait for each other; with one counter all would. */
const SLOTS = 8;

/** SQL: the counter's row of a shard. */
export const slotOf = (shard: RawBuilder<unknown>) => sql`(${shard} % ${sql.lit(SLOTS)})::smallint`;

/** SQL for a statement with the CTE `written`: each row's shard, and its state and code before and after. */
export const addToCodes = sql`
  insert into recipient_codes (run_id, channel, state, code, slot, count)
  select run_id, channel, state, code, slot, sum(n)::int from (
    select run_id, channel, new_state as state, new_code as code, ${slotOf(sql`shard`)} as slot, 1 as n
    from written where new_code is not null
    union all
    select run_id, channel, old_state, old_code, ${slotOf(sql`shard`)}, -1 from written where old_code is not null
  ) moves group by run_id, channel, state, code, slot having sum(n) <> 0
  order by run_id, channel, state, code, slot
  on conflict (run_id, channel, state, code, slot) do update set count = recipient_codes.count + excluded.count`;
