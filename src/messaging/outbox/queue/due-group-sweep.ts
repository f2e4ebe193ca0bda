import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import { WAITING_IN_GROUPS } from '../../model/due-groups';
import type { MessagingTables } from '../../model/tables';
import type { Partition, Partitions } from './partitions';

/**
 * Deletes the groups of which no message waits any more, and takes out of the others what has left, when that is half. A
 * hand-over does not touch them, so that it writes one row a message; until they are swept they cost their readers a look
 * at each message.
 */
export class DueGroupSweep {
  private timer: NodeJS.Timeout | undefined;
  private running = false;

  constructor(private readonly deps: { db: Kysely<MessagingTables>; partitions: Partitions; log: Log }) {}

  start(): void {
    this.running = true;
    this.schedule(LIMITS.dueGroupSweepMs);
  }

  stop(): void {
    this.running = false;
    clearTimeout(this.timer);
  }

  private schedule(afterMs: number): void {
    this.timer = setTimeout(async () => {
      const begun = performance.now();
      try {
        for (const partition of [...this.deps.partitions.all()])
          await sweepDueGroups(this.deps.db, partition);
      } catch (error) {
        this.deps.log.warn({ err: error }, 'Groups of due messages could not be swept; trying again');
      }
      const restMs = (performance.now() - begun) / LIMITS.dueGroupSweepShare;
      if (this.running)
        this.schedule(Math.min(Math.max(LIMITS.dueGroupSweepMs, restMs), LIMITS.dueGroupSweepMaxMs));
    }, afterMs);
    this.timer.unref();
  }
}

/** Groups of later times are left alone. */
export async function sweepDueGroups(
  db: Kysely<MessagingTables>,
  partition: Pick<Partition, 'id'>,
): Promise<void> {
  await sql`
    with looked as materialized (
      select g.ctid as place, cardinality(g.message_ids) as count, g.expires_at, waiting.*
      from due_groups g cross join lateral (
        select coalesce(array_agg(m.id order by i.position), '{}') as ids, min(m.accepted_seq) as first_seq,
          min(m.expires_at) as expires_from
        from (select) one ${WAITING_IN_GROUPS}
      ) waiting
      where g.lane = ${partition.id} and g.due_at <= now()
    ), gone as (
      delete from due_groups where ctid = any(array(select place from looked where ids = '{}'))
    )
    update due_groups g set message_ids = k.ids, first_seq = k.first_seq, expires_at = k.expires_from
    from looked k
    where g.ctid = k.place and k.ids <> '{}'
      and (cardinality(k.ids) * 2 <= k.count or k.expires_at is distinct from k.expires_from)`.execute(db);
}
