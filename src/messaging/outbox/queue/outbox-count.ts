import { type Kysely, sql } from 'kysely';
import type { Message } from '../../../contracts/send';
import { LIMITS } from '../../../domain/limits';
import { allDue, sweepDueGroups } from '../../model/due-groups';
import type { MessagingTables } from '../../model/tables';

/**
 * How many due messages of each workspace and class are not yet with a provider, for the bound on the outbox. A
 * running count, because counting rows for every request would cost more than the request. It is corrected from the
 * table every few seconds, because other processes accept and hand over too: while this one changes it or is asked for it, so
 * that one that only refuses learns that there is room again. The correction reads rows that were
 * handed over since the last vacuum, so it runs less often when it takes long. What has left the groups of this process's
 * partitions is swept before.
 */
export interface OutboxCount {
  /** How many of `wanted` messages of the class may still be accepted. */
  room(workspaceId: string, kind: MessageClass, wanted: number): number;
  /** Undelivered due messages of each class, beside their bounds. */
  depth(workspaceId: string): Record<MessageClass, ClassDepth>;
  change(workspaceId: string, kind: MessageClass, by: number): void;
  start(): Promise<void>;
  stop(): void;
}

export type MessageClass = Message['class'];

export interface ClassDepth {
  undelivered: number;
  bound: number;
}

const RECOUNT_INTERVAL_MS = 5_000;
const RECOUNT_SHARE = 0.01;
/** A count that took long because the process was frozen, or the database away, is corrected soon all the same. */
const RECOUNT_INTERVAL_MAX_MS = 30_000;

export const OUTBOX_BOUNDS: Record<MessageClass, number> = {
  marketing: LIMITS.outboxMessages,
  transactional: LIMITS.outboxTransactionalMessages,
};

export function createOutboxCount(
  db: Kysely<MessagingTables>,
  {
    bounds = OUTBOX_BOUNDS,
    partitions = () => [],
  }: { bounds?: Record<MessageClass, number>; partitions?: () => Iterable<{ id: string }> } = {},
): OutboxCount {
  let counts = new Map<string, Record<MessageClass, number>>();
  let changed = false;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  function countOf(workspaceId: string, kind: MessageClass): number {
    const count = counts.get(workspaceId)?.[kind] ?? 0;
    // Another process may have handed over or canceled these since they were counted.
    if (count > 0) changed = true;
    return count;
  }

  async function recount(): Promise<void> {
    changed = false;
    for (const { id } of [...partitions()]) await sweepDueGroups(db, id);
    const rows = await countDue(db);
    counts = new Map();
    for (const row of rows) recorded(row.workspace_id)[row.class] = row.count;
  }

  function recorded(workspaceId: string): Record<MessageClass, number> {
    const known = counts.get(workspaceId) ?? { marketing: 0, transactional: 0 };
    counts.set(workspaceId, known);
    return known;
  }

  function recountAfter(ms: number): void {
    if (!running) return;
    timer = setTimeout(async () => {
      const begun = performance.now();
      // A failure shows elsewhere; the next round corrects the count.
      if (changed)
        changed = await recount().then(
          () => changed,
          () => true,
        );
      recountAfter(recountRestMs(performance.now() - begun));
    }, ms).unref();
  }

  return {
    room: (workspaceId, kind, wanted) =>
      Math.max(0, Math.min(wanted, bounds[kind] - countOf(workspaceId, kind))),
    depth: (workspaceId) => ({
      marketing: { undelivered: countOf(workspaceId, 'marketing'), bound: bounds.marketing },
      transactional: { undelivered: countOf(workspaceId, 'transactional'), bound: bounds.transactional },
    }),
    change(workspaceId, kind, by) {
      changed = true;
      const ofWorkspace = recorded(workspaceId);
      ofWorkspace[kind] = Math.max(0, ofWorkspace[kind] + by);
    },
    async start() {
      running = true;
      await recount();
      recountAfter(RECOUNT_INTERVAL_MS);
    },
    stop() {
      running = false;
      clearTimeout(timer);
    },
  };
}

async function countDue(db: Kysely<MessagingTables>) {
  const { rows } = await sql<{ workspace_id: string; class: MessageClass; count: number }>`
    select m.workspace_id, m.class, count(*) as count
    from ${allDue(new Date())} group by m.workspace_id, m.class
  `.execute(db);
  return rows;
}

/** How long to rest after a count that took so long, in milliseconds. */
export function recountRestMs(tookMs: number): number {
  return Math.min(Math.max(RECOUNT_INTERVAL_MS, tookMs / RECOUNT_SHARE), RECOUNT_INTERVAL_MAX_MS);
}
