import { type Kysely, sql } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { FeedLauncher, OutcomeNews, SendLauncher } from '../ports';
import type { CampaignTables } from '../tables';
import { applyEvents, readCursor } from './outcomes';

const INTERVAL_MS = 60_000;
/** A service that hangs costs each of them half a minute. */
const WORKSPACES_AT_ONCE = 8;

/**
 * Sees once a minute that what the service tells is heard. Where runs or durable sends wait for it there must be a
 * workflow that follows the feed, and one that has ended is started again. Where nothing waits, what still came is
 * taken in here: a bounce after hours, a telephone that was switched on. It is one short request of a workspace;
 * a workflow that followed on would hold a worker's place for weeks, and one started for each late receipt would
 * leave a history of its own each time.
 */
export function keepFeedsFollowed(
  db: Kysely<CampaignTables>,
  parts: Parts,
): { stop(): void; looked: Promise<void> } {
  const stopping = new AbortController();
  const look = feedLook(db, parts, stopping.signal);
  let looking: Promise<void> | undefined;
  const tick = () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const timer = setInterval(tick, INTERVAL_MS);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    stopping.abort();
  };
  return { stop, looked: tick() };
}

interface Parts {
  launcher: FeedLauncher & Pick<SendLauncher, 'wakeSend'>;
  news: OutcomeNews;
  log: Log;
}

function feedLook(
  db: Kysely<CampaignTables>,
  { launcher, news, log }: Parts,
  stopping: AbortSignal,
): () => Promise<void> {
  let after = '';
  /** A service that tells nothing is not asked for a token each minute to hear so again. */
  const silent = new Set<string>();

  async function lookAt({ workspaceId, isAwaited }: FollowedWorkspace): Promise<void> {
    if (stopping.aborted || (silent.has(workspaceId) && !isAwaited)) return;
    if (!(await news.isTold(workspaceId))) {
      silent.add(workspaceId);
      return;
    }
    silent.delete(workspaceId);
    if (isAwaited) await launcher.launchFeed(workspaceId);
    else await takeLate(workspaceId);
  }

  async function takeLate(workspaceId: string): Promise<void> {
    for (let pages = 1; ; pages++) {
      const cursor = await readCursor(db, workspaceId);
      const { events, next } = await news.read(workspaceId, cursor, LIMITS.longPageSizeMax);
      if (!events.length) return;
      const taken = await applyEvents(db, workspaceId, cursor, next, events);
      // By now somebody else follows.
      if (!taken) return;
      // All had ended when it was looked; a send that was made since need not wait for its own look.
      for (const sendId of taken.sends) await launcher.wakeSend(sendId);
      const isRest = events.length < LIMITS.longPageSizeMax;
      if (isRest || pages === LIMITS.latePages || stopping.aborted) return;
    }
  }

  return async () => {
    try {
      const workspaces = await followedWorkspaces(db, after);
      after = workspaces.length < LIMITS.feedsPerLook ? '' : (workspaces.at(-1)?.workspaceId ?? '');
      const failures: unknown[] = [];
      await inParallel(workspaces, WORKSPACES_AT_ONCE, (workspace) =>
        lookAt(workspace).catch((error: unknown) => failures.push(error)),
      );
      if (failures.length === 0 || stopping.aborted) return;
      log.warn(
        { err: failures[0], workspaces: failures.length },
        'what became of messages could not be asked for; the next look is in a minute',
      );
    } catch (error) {
      if (stopping.aborted) return;
      log.warn({ err: error }, 'event feeds could not be looked through; the next look is in a minute');
    }
  };
}

interface FollowedWorkspace {
  workspaceId: string;
  /** A run or a durable send waits for what the feed tells. */
  isAwaited: boolean;
}

/**
 * Workspaces whose messages may still be told of. A run that is planned for another day, and has sent nothing, waits
 * for nothing; it begins its feed by itself.
 */
async function followedWorkspaces(db: Kysely<CampaignTables>, after: string): Promise<FollowedWorkspace[]> {
  const { rows } = await sql<FollowedWorkspace>`
    select workspace_id as "workspaceId", bool_or(awaited) as "isAwaited" from (
      select workspace_id, phase in ('running', 'finishing') as awaited from runs
      where phase in ('running', 'finishing') or finished_at > now() - make_interval(days => ${LIMITS.lateOutcomeDays}::int)
      union all
      select workspace_id, exists (
        select from durable_sends s where s.workspace_id = c.workspace_id and s.finished_at is null and s.offered
      ) from event_cursors c
      where exists (select from durable_sends s where s.workspace_id = c.workspace_id)
    ) followed
    where workspace_id > ${after}
    group by workspace_id order by workspace_id limit ${LIMITS.feedsPerLook}`.execute(db);
  return rows;
}
