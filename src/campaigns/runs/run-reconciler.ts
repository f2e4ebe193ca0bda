import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import { forgetContactUses } from '../policy/contact-caps';
import { followPolicy } from '../policy/follow-policy';
import type { CampaignSchedules, RunLauncher, SendLauncher } from '../ports';
import { lookAtSchedules } from '../schedules/schedule-reconciler';
import { isStopped } from '../stops/stops';
import type { CampaignTables } from '../tables';
import { type LiveRun, liveRuns } from './runs';

/** A lost launch is rare, and a launch that was not lost is refused by its id: once a minute is plenty. */
const INTERVAL_MS = 60_000;

/** A send's workflow is expected to be late by no more than this. */
const LATE_SECONDS = 30;

/**
 * Sees that every live run and durable send has its workflow: a process killed between a run's row and its
 * workflow, or a Temporal server that came back empty, would leave one that nobody executes. What it has done is
 * in the database, so a workflow that starts anew goes on from there. A look that fails, the first one too, is
 * made good by the next: a worker has other work meanwhile.
 */
export async function keepRunsLaunched(
  db: Kysely<CampaignTables>,
  launcher: RunLauncher & SendLauncher & CampaignSchedules,
  log: Log,
): Promise<{ stop(): void }> {
  const launched = new LaunchedRuns();
  const relaunch = async (): Promise<void> => {
    try {
      for (const run of launched.toBeLaunched(await liveRuns(db))) {
        await launcher.launch(run);
        launched.note(run);
      }
      for (const send of await overdueSends(db)) await launcher.launchSend(send);
      await lookAtSchedules(db, launcher, log);
      await followPolicy(db, launcher, log);
      await forgetContactUses(db);
    } catch (error) {
      log.warn({ err: error }, 'what is live could not be looked through; the next look is in a minute');
    }
  };
  await relaunch();
  const timer = setInterval(relaunch, INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/**
 * Runs of which this process knows that they had their workflow. A launch is a request to the server, so that thousands
 * of runs that wait are not launched again each minute, but some of them in turn: a server that came back empty is
 * found out about within the hour also by a process that has not been started anew.
 */
export class LaunchedRuns {
  /** The one that was launched longest ago first. */
  private readonly known = new Set<string>();

  toBeLaunched(live: readonly LiveRun[]): LiveRun[] {
    const runs = new Map(live.map((run) => [keyOf(run), run]));
    for (const key of this.known) if (!runs.has(key)) this.known.delete(key);
    const missing = live.filter((run) => !this.known.has(keyOf(run)));
    const again = [...this.known].slice(0, LIMITS.runsRelaunched).flatMap((key) => runs.get(key) ?? []);
    return [...missing, ...again];
  }

  note(run: LiveRun): void {
    this.known.delete(keyOf(run));
    this.known.add(keyOf(run));
  }
}

const keyOf = ({ runId, launch }: LiveRun): string => `${runId}:${launch}`;

/**
 * Sends that nobody has looked at when they were due, and planned ones whose hour comes before the next
 * sweep. The rest are left alone: there may be a hundred thousand that wait for next week, or for the end of a stop.
 */
export async function overdueSends(db: Kysely<CampaignTables>): Promise<{ sendId: string; startAt: Date }[]> {
  const soonSeconds = (2 * INTERVAL_MS) / 1000;
  const { rows } = await sql<{ id: string; due_at: Date }>`
    select id, due_at from durable_sends s
    where finished_at is null and not ${isStopped(sql`s.workspace_id`)} and (due_at < now() - make_interval(secs => ${LATE_SECONDS})
      or (due_at between now() and now() + make_interval(secs => ${soonSeconds}) and started_at is null))
    order by due_at limit ${LIMITS.sendsRelaunched}`.execute(db);
  return rows.map((row) => ({ sendId: row.id, startAt: row.due_at }));
}
