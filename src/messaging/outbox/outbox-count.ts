import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { MessagingTables } from '../tables';

/**
 * How many due messages of each workspace are not yet with a provider, for the bound on the outbox. A
 * running count, because counting rows for every request would cost more than the request; set right by
 * the table every few seconds, since other processes accept and hand over too. It counts through what was handed
 * over since the table was last vacuumed, and so comes more seldom when it takes long.
 */
export interface OutboxCount {
  /** How many of `wanted` messages may still be taken on. */
  room(workspaceId: string, wanted: number): number;
  change(workspaceId: string, by: number): void;
  start(): Promise<void>;
  stop(): void;
}

const RECOUNT_INTERVAL_MS = 5_000;
const RECOUNT_SHARE = 0.01;
/** A count that took long because the process was frozen, or the database away, is soon set right all the same. */
const RECOUNT_INTERVAL_MAX_MS = 30_000;

export function createOutboxCount(
  db: Kysely<MessagingTables>,
  bound: number = LIMITS.outboxMessages,
): OutboxCount {
  let counts = new Map<string, number>();
  let changed = false;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  async function recount(): Promise<void> {
    changed = false;
    const { rows } = await sql<{ workspace_id: string; count: number }>`
      select m.workspace_id, count(*) as count
      from dispatch_lanes l join messages m on m.lane = l.id
      where m.due_at <= ${new Date().toISOString()}::timestamptz
      group by m.workspace_id
    `.execute(db);
    counts = new Map(rows.map((row) => [row.workspace_id, row.count]));
  }

  function recountAfter(ms: number): void {
    if (!running) return;
    timer = setTimeout(async () => {
      const begun = performance.now();
      // A failure shows elsewhere; the next round sets the count right.
      if (changed) await recount().catch(() => undefined);
      recountAfter(recountRestMs(performance.now() - begun));
    }, ms);
    timer.unref();
  }

  return {
    room: (workspaceId, wanted) => Math.max(0, Math.min(wanted, bound - (counts.get(workspaceId) ?? 0))),
    change(workspaceId, by) {
      changed = true;
      counts.set(workspaceId, Math.max(0, (counts.get(workspaceId) ?? 0) + by));
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

/** How long to rest after a count that took so long, in milliseconds. */
export function recountRestMs(tookMs: number): number {
  return Math.min(Math.max(RECOUNT_INTERVAL_MS, tookMs / RECOUNT_SHARE), RECOUNT_INTERVAL_MAX_MS);
}
