import { type Kysely, sql } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { RunLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { expireStopped } from './expire-overdue';

export interface StopsFollowed {
  /** To be called each second, by the one process that watches. */
  tick(): Promise<void>;
  stop(): Promise<void>;
}

type Launcher = Pick<RunLauncher, 'controlChanged'>;

const AT_ONCE = 8;
const TELL_AGAIN_MS = 5_000;
/** A sweep that took long is followed by a rest of so many times as long, so that it costs a tenth of a connection. */
const REST_SHARE = 10;

/**
 * What a stop asks for beside what reads it: recipients whose time is over while nothing takes them to the service are
 * ended, and when the stop is over, the runs and durable sends that sleep because of it are signalled. The row of a stop
 * that has ended is deleted once all of them are signalled, so that another process goes on if this one is killed in between;
 * a second signal is harmless.
 */
export function followStops(db: Kysely<CampaignTables>, launcher: Launcher, log: Log): StopsFollowed {
  const busy = new Map<string, Promise<void>>();
  const restUntil = new Map<string, number>();
  let isStopping = false;

  /**
   * Runs without being awaited, so that slow work for one workspace delays neither the watcher nor other
   * workspaces.
   */
  function once(key: string, work: () => Promise<number>, failure: string): void {
    if (isStopping || busy.has(key) || (restUntil.get(key) ?? 0) > Date.now()) return;
    const done = work()
      .catch((error: unknown) => {
        log.warn({ err: error }, failure);
        return TELL_AGAIN_MS;
      })
      .then((restMs) => {
        restUntil.set(key, Date.now() + restMs);
        busy.delete(key);
      });
    busy.set(key, done);
  }

  async function sweep(workspaceId: string): Promise<number> {
    const startedAt = Date.now();
    await expireStopped(db, workspaceId, () => !isStopping);
    return Math.max(LIMITS.expireWaitingMs, REST_SHARE * (Date.now() - startedAt));
  }

  async function tell({ workspaceId, endedAt }: Ended): Promise<number> {
    await wakeSends(db, workspaceId);
    if ((await tellRuns(db, launcher, log, workspaceId)) > 0) return TELL_AGAIN_MS;
    await sql`
      delete from workspace_stops
      where workspace_id = ${workspaceId} and ended_at = ${endedAt}::timestamptz`.execute(db);
    return 0;
  }

  return {
    async tick() {
      const { rows } = await sql<Ended | { workspaceId: string; endedAt: null }>`
        select workspace_id as "workspaceId", ended_at::text as "endedAt" from workspace_stops
        order by workspace_id`.execute(db);
      for (const row of rows) {
        const { workspaceId, endedAt } = row;
        if (endedAt === null)
          once(
            `sweep ${workspaceId}`,
            () => sweep(workspaceId),
            'what expires during a stop could not be read',
          );
        else
          once(
            `tell ${workspaceId}`,
            () => tell(row),
            'the end of a stop could not be told; it will be tried again',
          );
      }
      for (const [key, at] of restUntil) if (at <= Date.now()) restUntil.delete(key);
    },
    async stop() {
      isStopping = true;
      await Promise.all(busy.values());
    },
  };
}

/** `endedAt` as the database writes it: a Date has no microseconds. */
interface Ended {
  workspaceId: string;
  endedAt: string;
}

/**
 * Signals the workspace's runs that are to go on; paused runs need no signal. A run that is still planned has a workflow
 * to signal only once its start time has come. Returns how many runs could not be signalled.
 */
async function tellRuns(
  db: Kysely<CampaignTables>,
  launcher: Launcher,
  log: Log,
  workspaceId: string,
): Promise<number> {
  let failed = 0;
  for (let after = ''; ; ) {
    const { rows } = await sql<{ runId: string; launch: number }>`
      select r.id as "runId", r.launches as launch from runs r join campaigns c on c.id = r.campaign_id
      where r.workspace_id = ${workspaceId} and r.id > ${after} and r.control = 'run'
        and r.phase in ('planning', 'running', 'finishing')
        and not (r.phase = 'planning' and c.stage = 'scheduled' and c.options #>> '{schedule,cron}' is null)
      order by r.id limit ${LIMITS.runsTold}`.execute(db);
    await inParallel(rows, AT_ONCE, async (run) => {
      await launcher.controlChanged(run).catch((error: unknown) => {
        failed += 1;
        log.warn(
          { err: error, runId: run.runId },
          'could not signal a run about the end of a stop; trying again',
        );
      });
    });
    if (rows.length < LIMITS.runsTold) return failed;
    after = rows.at(-1)?.runId ?? after;
  }
}

/** Sends that are due, and that their service has not accepted, are woken in turn with those of other workspaces. */
async function wakeSends(db: Kysely<CampaignTables>, workspaceId: string): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const { rows } = await sql<{ last: string | null }>`
      with due as (
        select id from durable_sends
        where workspace_id = ${workspaceId} and id > ${after} and finished_at is null and accepted_at is null
          and due_at <= now()
        order by id limit ${LIMITS.sendsTold}
      ), told as (update durable_sends set launch_at = now() where id in (select id from due))
      select max(id) as last from due`.execute(db);
    after = rows[0]?.last ?? null;
  }
}
