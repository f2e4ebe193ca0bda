import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../tables';

export interface FollowedWorkspace {
  workspaceId: string;
  /** A run or a durable send waits for what the feed tells. */
  isAwaited: boolean;
  /** When the last of its runs ended; null while one goes on. */
  lastAt: Date | null;
}

/**
 * Workspaces whose messages may still be told of. A run that is planned for another day, and has sent nothing, waits
 * for nothing; it asks for its feed when it begins.
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

/** An ask is seen by one of so many seconds' looks, also when its transaction took a few to commit. */
const SEEN_SECONDS = 10;

export async function askedWorkspaces(
  db: Kysely<CampaignTables>,
): Promise<{ workspaceId: string; askedAt: Date }[]> {
  const { rows } = await sql<{ workspaceId: string; askedAt: Date }>`
    select workspace_id as "workspaceId", asked_at as "askedAt" from event_cursors
    where asked_at > now() - make_interval(secs => ${SEEN_SECONDS})`.execute(db);
  return rows;
}
