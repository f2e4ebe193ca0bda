import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Log } from '../../log';
import type { CampaignTables } from '../model/tables';

/** A workspace of which nothing is handed to any provider (api.md 19, Stop). */
export interface Stop {
  since: Date;
  /** The user or the client that stopped it. */
  by: string | null;
  reason: string;
}

export interface Stops {
  read(workspaceId: string): Promise<Stop | null>;
  /** A workspace that is stopped already keeps its first stop. */
  begin(workspaceId: string, stop: { by: string | undefined; reason: string }): Promise<Stop>;
  /** Harmless for a workspace that is not stopped. */
  end(workspaceId: string): Promise<void>;
}

/**
 * The row is the stop, and is committed before the answer. Hand-over and pages read it by themselves; `changed` lets
 * this process hear of it at once, and a process that missed it learns of it from the table within a second.
 */
export function createStops(deps: {
  db: Kysely<CampaignTables>;
  changed: (workspaceId: string) => Promise<void>;
  log: Log;
}): Stops {
  const { db, changed, log } = deps;
  const tell = (workspaceId: string) =>
    changed(workspaceId).catch((error: unknown) =>
      log.warn(
        { err: error, workspaceId },
        'could not apply a stop at once; it will be applied within a second',
      ),
    );
  return {
    read: (workspaceId) => readStop(db, workspaceId),

    async begin(workspaceId, stop) {
      const begun = await beginStop(db, workspaceId, stop);
      await tell(workspaceId);
      return begun;
    },

    async end(workspaceId) {
      // Runs and sends that are not signalled here are signalled by the watcher (follow-stops.ts).
      await db
        .updateTable('workspace_stops')
        .set({ ended_at: sql<Date>`now()` })
        .where('workspace_id', '=', workspaceId)
        .where('ended_at', 'is', null)
        .execute();
      await tell(workspaceId);
    },
  };
}

/** Whether the workspace is stopped: since when, by whom and why. */
export async function readStop(db: Kysely<CampaignTables>, workspaceId: string): Promise<Stop | null> {
  const row = await db
    .selectFrom('workspace_stops')
    .select(['since', 'stopped_by as by', 'reason'])
    .where('workspace_id', '=', workspaceId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return row ?? null;
}

/** One statement, so that of two calls at the same moment one is first and both answer its stop. */
async function beginStop(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { by, reason }: { by: string | undefined; reason: string },
): Promise<Stop> {
  const { rows } = await sql<Stop>`
    insert into workspace_stops as s (workspace_id, stopped_by, reason)
    values (${workspaceId}, ${by ?? null}, ${reason})
    on conflict (workspace_id) do update set ended_at = null,
      since = case when s.ended_at is null then s.since else excluded.since end,
      stopped_by = case when s.ended_at is null then s.stopped_by else excluded.stopped_by end,
      reason = case when s.ended_at is null then s.reason else excluded.reason end
    returning since, stopped_by as by, reason`.execute(db);
  return rows[0] as Stop;
}

/** SQL: whether the workspace that a row names is stopped. */
export const isStopped = (workspaceId: RawBuilder<unknown>) => sql<boolean>`exists (
  select from workspace_stops stop where stop.workspace_id = ${workspaceId} and stop.ended_at is null)`;

/** SQL: the workspaces that are stopped, of those given or of all. */
export const stoppedWorkspaces = (among?: readonly string[]) => sql<{ workspace_id: string }>`
  select workspace_id from workspace_stops
  where ended_at is null and ${among ? sql`workspace_id = any(${[...among]}::text[])` : sql`true`}`;

/** Twice within the second that is promised, with time for the statement. */
const LOOK_MS = 400;

/**
 * Which workspaces are stopped, for chunks that go to a service in single requests: at a slow service a chunk takes
 * longer than the second after which nothing more may leave. All chunks of a process share one statement, and none is
 * made while there are no such chunks.
 */
export class StopWatch {
  private readonly attending = new Set<{ workspaceId: string; stop: AbortController }>();
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(private readonly db: Kysely<CampaignTables>) {}

  /** The signal comes when the workspace is stopped, until `end` is called. */
  attend(workspaceId: string): { signal: AbortSignal; end(): void } {
    const chunk = { workspaceId, stop: new AbortController() };
    this.attending.add(chunk);
    this.timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
    return {
      signal: chunk.stop.signal,
      end: () => {
        this.attending.delete(chunk);
        if (this.attending.size > 0) return;
        clearInterval(this.timer);
        this.timer = undefined;
      },
    };
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      // A chunk that begins after the statement has read the run's row, and is stopped by that.
      const chunks = [...this.attending];
      const { rows } = await stoppedWorkspaces().execute(this.db);
      const stopped = new Set(rows.map(({ workspace_id }) => workspace_id));
      for (const { workspaceId, stop } of chunks) if (stopped.has(workspaceId)) stop.abort();
    } catch {
      // The chunk cannot be recorded either, and the next look comes soon.
    } finally {
      this.isLooking = false;
    }
  }
}
