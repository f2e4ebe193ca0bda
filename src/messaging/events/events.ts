import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { MessageEvent } from '../../domain/message';
import type { MessagingTables } from '../model/tables';
import type { NewEvent } from './event-rows';

/**
 * The event feed of a workspace: every event in one total order. A reader that keeps its cursor misses none and
 * reads none twice. Numbers are taken under a lock that is held until the commit, so that a smaller number is
 * never committed after a larger one. Numbers may have gaps.
 */
export interface EventFeed {
  read(
    workspaceId: string,
    query: {
      after?: string | undefined;
      limit: number;
      waitSeconds: number;
      signal?: AbortSignal | undefined;
    },
  ): Promise<{ events: MessageEvent[]; next: string }>;
  /** Called when this process wrote events of the workspace. */
  notify(workspaceId: string): void;
  stop(): void;
}

/** Events come in crowds, so a waiting reader is woken when the first few dozen have arrived, not for each. */
const GATHER_MS = 20;

interface EventFeedDeps {
  db: Kysely<MessagingTables>;
}

export function createEventFeed(deps: EventFeedDeps): EventFeed {
  return new StoredEventFeed(deps);
}

class StoredEventFeed implements EventFeed {
  private readonly waiting = new Map<string, Set<() => void>>();
  private poll: NodeJS.Timeout | undefined;
  private seen = new Map<string, number>();

  constructor(private readonly deps: EventFeedDeps) {}

  readonly notify = (workspaceId: string): void => {
    for (const wake of this.waiting.get(workspaceId) ?? []) wake();
  };

  readonly read: EventFeed['read'] = async (workspaceId, { after, limit, waitSeconds, signal }) => {
    let position = positionOf(after);
    let isKept = position === 0;
    const deadline = performance.now() + waitSeconds * 1_000;
    for (;;) {
      const leftMs = deadline - performance.now();
      // Listen before the query, because an event written in between would otherwise not wake the reader.
      const awaited = leftMs > 0 ? this.waitForEvents(workspaceId, leftMs, signal) : undefined;
      try {
        const page = await readAfter(this.deps.db, workspaceId, position, limit);
        // Asked after the events were read, because those that come next may be deleted between the two.
        if (!isKept && !page.follows) await requireKept(this.deps.db, workspaceId, position);
        isKept = true;
        // A page may be full of numbers without an event; later events may exist already, so read on.
        const isOnlyHoles = page.events.length === 0 && page.position > position;
        position = page.position;
        if (isOnlyHoles && !signal?.aborted) continue;
        if (page.events.length > 0 || !awaited || signal?.aborted) {
          return { events: page.events, next: cursorOf(position) };
        }
        await awaited.come;
      } finally {
        awaited?.end();
      }
      if (!signal?.aborted) await delay(Math.min(GATHER_MS, Math.max(0, deadline - performance.now())));
    }
  };

  readonly stop: EventFeed['stop'] = () => {
    clearTimeout(this.poll);
    this.poll = undefined;
    for (const ofWorkspace of this.waiting.values()) for (const wake of ofWorkspace) wake();
  };

  /** Notices what other processes wrote, by one query over the heads for all waiting readers. */
  private async lookAround(): Promise<void> {
    const workspaces = [...this.waiting.keys()];
    try {
      const rows = await this.deps.db
        .selectFrom('event_heads')
        .select(['workspace_id', 'next_seq'])
        .where('workspace_id', '=', sql<string>`any(${workspaces}::text[])`)
        .execute();
      const before = this.seen;
      this.seen = new Map(rows.map((row) => [row.workspace_id, row.next_seq]));
      for (const [workspaceId, next] of this.seen)
        if (before.get(workspaceId) !== next) this.notify(workspaceId);
    } catch {
      // The reader's own query will meet the same error and report it.
    }
    this.poll = undefined;
    this.schedulePoll();
  }

  private schedulePoll(): void {
    if (this.waiting.size === 0 || this.poll) return;
    this.poll = setTimeout(() => void this.lookAround(), LIMITS.feedPollMs);
    this.poll.unref();
  }

  /** Resolves when there may be new events, at the latest after `ms`. */
  private waitForEvents(
    workspaceId: string,
    ms: number,
    signal: AbortSignal | undefined,
  ): { come: Promise<void>; end(): void } {
    const ofWorkspace = this.waiting.get(workspaceId) ?? new Set();
    this.waiting.set(workspaceId, ofWorkspace);
    let end = () => {};
    const come = new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      const wake = () => done();
      ofWorkspace.add(wake);
      signal?.addEventListener('abort', wake);
      end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        ofWorkspace.delete(wake);
        if (ofWorkspace.size === 0) this.waiting.delete(workspaceId);
      };
    });
    this.schedulePoll();
    return { come, end };
  }
}

/** The cursor is the number of the last event read, encoded so that callers do not calculate with it. */
const cursorOf = (position: number): string => `e${position.toString(36)}`;

function positionOf(cursor: string | undefined): number {
  if (cursor === undefined || cursor === '') return 0;
  const position = /^e[0-9a-z]{1,10}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'Not a cursor of this feed; send `next` of an earlier answer, or nothing to begin anew';
  throw new DomainError('invalid_request', `after: ${message}`, {
    errors: [{ path: 'after', code: 'invalid_cursor', message }],
  });
}

/** Refuses a reader that was away for longer than events are kept, because it has missed some. */
async function requireKept(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  position: number,
): Promise<void> {
  const head = await db
    .selectFrom('event_heads')
    .select('kept_from')
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (!head || position + 1 >= head.kept_from) return;
  const text =
    'Events after this cursor were deleted; read on without a cursor, from the oldest that is kept';
  throw new DomainError('cursor_expired', `after: ${text}`, {
    errors: [{ path: 'after', code: 'expired', message: text }],
  });
}

interface LogRow {
  first_seq: number;
  count: number;
  at: Date;
  /** JSON of an array of events, with null for each event that was not written. */
  events: string;
}

/**
 * Reads events after a number. If they are no longer kept, it begins with the oldest event that is. `follows`: there is an
 * event with the next number, so that none was deleted in between.
 */
export async function readAfter(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  position: number,
  limit: number,
): Promise<{ events: MessageEvent[]; position: number; follows: boolean }> {
  // The row with the next number may begin before it. A row that was read to its end is skipped, even if the
  // next numbers do not exist. A row is left out once the rows before it fill the page, because each may hold a
  // thousand events. Events are read as text, because the driver would parse the objects one row at a time.
  const { rows } = await sql<LogRow>`
    select first_seq, count, at, events::text as events from (
      select first_seq, count, at, events,
        sum(least(count, first_seq + count - ${position + 1}::int8))
          over (order by first_seq rows between unbounded preceding and 1 preceding) as before
      from (
        select * from event_log
        where workspace_id = ${workspaceId} and first_seq >= coalesce((
          select max(first_seq) from event_log
          where workspace_id = ${workspaceId} and first_seq <= ${position + 1}
        ), 0) and first_seq + count > ${position + 1}::int8
        order by first_seq limit ${limit + 1}
      ) as candidates
    ) as counted
    where coalesce(before, 0) < ${limit}
    order by first_seq
  `.execute(db);
  const events: MessageEvent[] = [];
  const follows = rows[0] !== undefined && rows[0].first_seq <= position + 1;
  let last = position;
  for (const row of rows) {
    const at = row.at.toISOString();
    const written = JSON.parse(row.events) as (NewEvent | null)[];
    for (let i = Math.max(0, last + 1 - row.first_seq); i < written.length; i++) {
      if (events.length === limit) return { events, position: last, follows };
      last = row.first_seq + i;
      const event = written[i];
      if (event) events.push({ seq: last, at, ...event });
    }
  }
  return { events, position: last, follows };
}
