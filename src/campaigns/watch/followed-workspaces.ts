import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { FEED_START } from '../outcomes/outcomes';
import { holdWatch, type Watch } from './watch';

export interface FollowedWorkspace {
  workspaceId: string;
  /** A run or a durable send waits for events of the feed. */
  isAwaited: boolean;
  /** When the last of its runs ended; null while one is live. */
  lastAt: Date | null;
}

/**
 * Workspaces whose messages may still get events. A run that is planned for another day has sent nothing, so it
 * waits for nothing; it asks for its feed when it begins.
 */
export async function followedWorkspaces(db: Kysely<CampaignTables>): Promise<FollowedWorkspace[]> {
  const { rows } = await sql<FollowedWorkspace>`
    select workspace_id as "workspaceId", bool_or(awaited) as "isAwaited",
      case when not bool_or(awaited) then max(at) end as "lastAt"
    from (
      select workspace_id, phase in ('running', 'finishing') as awaited, finished_at as at from runs
      where phase in ('running', 'finishing') or finished_at > now() - make_interval(days => ${LIMITS.lateOutcomeDays}::int)
      union all
      select workspace_id, exists (
        select from durable_sends s where s.workspace_id = c.workspace_id and s.finished_at is null and s.offered
      ), updated_at from event_cursors c
      where exists (select from durable_sends s where s.workspace_id = c.workspace_id)
    ) followed
    group by workspace_id`.execute(db);
  return rows;
}

/**
 * An ask counts for this many seconds, so that a look sees it even if its transaction took some seconds to
 * commit.
 */
const SEEN_SECONDS = 10;

export interface Asked {
  workspaces: { workspaceId: string; askedAt: Date }[];
  stamp: string | null;
}

/**
 * Renews the watch, and in the same statement reads which workspaces asked lately and the `stamp` of the feeds.
 * Returns `undefined` when another process reads the feeds.
 */
export async function askedWorkspaces(
  db: Kysely<CampaignTables>,
  watch: Watch,
  stamp: RawBuilder<string> | undefined,
): Promise<Asked | undefined> {
  const { rows } = await sql<{ workspaceId: string | null; askedAt: Date; stamp: string | null }>`
    with held as (${holdWatch(watch)})
    select c.workspace_id as "workspaceId", c.asked_at as "askedAt", ${stamp ?? sql`null`} as stamp
    from held left join event_cursors c on c.asked_at > now() - make_interval(secs => ${SEEN_SECONDS})`.execute(
    db,
  );
  if (!rows[0]) return undefined;
  const workspaces = rows.flatMap(({ workspaceId, askedAt }) =>
    workspaceId === null ? [] : [{ workspaceId, askedAt }],
  );
  return { workspaces, stamp: rows[0].stamp };
}

/** For one workspace, a process asks no more often than this. */
const SAID_MS = 20_000;
const REMEMBERED = 10_000;

/**
 * Records that something was sent whose outcome a workspace's feed will report. The watcher process then
 * follows the feed closely, however quiet it was.
 */
export class FeedAsks {
  private readonly said = new Map<string, number>();

  constructor(private readonly db: Kysely<CampaignTables>) {}

  async ask(workspaceId: string): Promise<void> {
    const now = Date.now();
    if (now - (this.said.get(workspaceId) ?? 0) < SAID_MS) return;
    await sql`
      insert into event_cursors as c (workspace_id, cursor, asked_at) values (${workspaceId}, ${FEED_START}, now())
      on conflict (workspace_id) do update set asked_at = now()`.execute(this.db);
    if (this.said.size >= REMEMBERED) this.said.clear();
    this.said.set(workspaceId, now);
  }
}
