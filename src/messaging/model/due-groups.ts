import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
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

/** SQL: what is due by then in all partitions and not with a provider, as `m`. */
export const allDue = (by: Date): RawBuilder<unknown> => sql`
  dispatch_lanes l join due_groups g on g.lane = l.id and g.due_at <= ${by.toISOString()}::timestamptz
  ${WAITING_IN_GROUPS}`;

/**
 * Deletes the groups of which no message waits any more, and takes out of the others what has left, when that is half. A
 * hand-over does not touch them, so that it writes one row a message; until they are swept they cost their readers a look
 * at each message. Groups of later times are left alone. However much waits, one statement looks at a page of groups.
 */
export async function sweepDueGroups(db: Kysely<MessagingTables>, partitionId: string): Promise<void> {
  let page: Page | undefined = { count: LIMITS.dueGroupsSwept, dueAt: '-infinity', place: '(0,0)' };
  while (page?.count === LIMITS.dueGroupsSwept) page = await sweepPage(db, partitionId, page);
}

interface Page {
  count: number;
  /** Of its last group. */
  dueAt: string;
  place: string;
}

/** What another process changed since this statement began is no longer at its place, and is left alone. */
async function sweepPage(
  db: Kysely<MessagingTables>,
  partitionId: string,
  after: Page,
): Promise<Page | undefined> {
  const { rows } = await sql<Page>`
    with page as materialized (
      select g.ctid as place, g.* from due_groups g
      where g.lane = ${partitionId} and g.due_at <= now()
        and (g.due_at, g.ctid) > (${after.dueAt}::timestamptz, ${after.place}::tid)
      order by g.due_at, g.ctid limit ${LIMITS.dueGroupsSwept}
    ), looked as materialized (
      select g.place, cardinality(g.message_ids) as count, g.expires_at, waiting.*
      from page g cross join lateral (
        select coalesce(array_agg(m.id order by i.position), '{}') as ids, min(m.accepted_seq) as first_seq,
          min(m.expires_at) as expires_from
        from (select) one ${WAITING_IN_GROUPS}
      ) waiting
    ), gone as (
      delete from due_groups where ctid = any(array(select place from looked where ids = '{}'))
    ), shortened as (
      update due_groups g set message_ids = k.ids, first_seq = k.first_seq, expires_at = k.expires_from
      from looked k
      where g.ctid = k.place and k.ids <> '{}'
        and (cardinality(k.ids) * 2 <= k.count or k.expires_at is distinct from k.expires_from)
    )
    select (select count(*) from page)::int as count, due_at::text as "dueAt", place::text as place
    from page order by page.due_at desc, page.place desc limit 1`.execute(db);
  return rows[0];
}
