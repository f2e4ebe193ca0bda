import { sql } from 'kysely';
import { RECIPIENT_RANK, RECIPIENT_STATES } from '../../domain/recipient';

/** The tail of a statement whose CTE `written` tells the shard, old state and new state of each row. */
export const addToCounts = sql`
  insert into shard_counts (run_id, channel, shard, state, count)
  select run_id, channel, shard, state, sum(n)::int from (
    select run_id, channel, shard, new_state as state, 1 as n from written
    union all
    select run_id, channel, shard, old_state, -1 from written where old_state <> 'pending'
  ) moves group by run_id, channel, shard, state having sum(n) <> 0
  order by run_id, channel, shard, state
  on conflict (run_id, channel, shard, state) do update set count = shard_counts.count + excluded.count`;

/** A state's rank as an SQL expression over a column that holds its name. */
export function rank(column: 'r.state' | 'result.state') {
  const cases = RECIPIENT_STATES.map((state) => `when '${state}' then ${RECIPIENT_RANK[state]}`).join(' ');
  return sql.raw(`(case ${column} ${cases} end)`);
}
