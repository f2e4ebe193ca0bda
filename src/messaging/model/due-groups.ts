import { type RawBuilder, sql } from 'kysely';

/**
 * SQL: the groups `g` of a query, each with its messages `m` that still wait. `i.position` is a message's place in its group.
 * A message that was handed over, canceled, or put off for its next try is in its group no more, because its own time is
 * another. `offset 0` has each looked up by its id: how many are in a group is not known when the plan is made, and the
 * other way reads all messages.
 */
export const WAITING_IN_GROUPS: RawBuilder<unknown> = sql`
  cross join lateral unnest(g.message_ids) with ordinality as i(id, position)
  cross join lateral (
    select * from messages where id = i.id and due_at = g.due_at and flow = g.flow and lane = g.lane offset 0
  ) m`;

/** SQL: what is due in all partitions and not with a provider, as `m`. */
export const allDue = (now: Date): RawBuilder<unknown> => sql`
  dispatch_lanes l join due_groups g on g.lane = l.id and g.due_at <= ${now.toISOString()}::timestamptz
  ${WAITING_IN_GROUPS}`;
