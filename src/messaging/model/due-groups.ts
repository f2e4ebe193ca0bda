import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { MessagingTables } from './tables';

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

/**
 * Deletes the groups of which no message waits any more, and takes out of the others what has left, when that is half. A
 * hand-over does not touch them, so that it writes one row a message; until they are swept they cost their readers a look
 * at each message. Groups of later times are left alone.
 */
export async function sweepDueGroups(db: Kysely<MessagingTables>, partitionId: string): Promise<void> {
  await sql`
    with looked as materialized (
      select g.ctid as place, cardinality(g.message_ids) as count, g.expires_at, waiting.*
      from due_groups g cross join lateral (
        select coalesce(array_agg(m.id order by i.position), '{}') as ids, min(m.accepted_seq) as first_seq,
          min(m.expires_at) as expires_from
        from (select) one ${WAITING_IN_GROUPS}
      ) waiting
      where g.lane = ${partitionId} and g.due_at <= now()
    ), gone as (
      delete from due_groups where ctid = any(array(select place from looked where ids = '{}'))
    )
    update due_groups g set message_ids = k.ids, first_seq = k.first_seq, expires_at = k.expires_from
    from looked k
    where g.ctid = k.place and k.ids <> '{}'
      and (cardinality(k.ids) * 2 <= k.count or k.expires_at is distinct from k.expires_from)`.execute(db);
}
