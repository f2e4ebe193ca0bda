import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { CampaignSchedules, RunLauncher, SendLaunch, SendLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { forgetContactUses } from '../policy/contact-caps';
import { followPolicy } from '../policy/follow-policy';
import { type LiveRun, liveRuns, runsNotBegun } from '../runs/runs';
import { lookAtSchedules } from '../schedules/schedule-reconciler';
import { isStopped } from '../stops/stops';

/** Once a minute is enough, because lost launches are rare, and Temporal refuses a repeated launch by its id. */
const INTERVAL_MS = 60_000;

/** A send's workflow is expected to be late by no more than this. */
const LATE_SECONDS = 30;

/**
 * Makes sure that every live run and durable send has its workflow. A process killed between a run's row and
 * its workflow would leave a run that nothing executes, and so would a Temporal server that was restored empty.
 * What the run has done is in the database, so that a new workflow continues from there. If a look fails, even
 * the first one, the next look repeats it, because a worker has other work meanwhile.
 */
export async function keepRunsLaunched(
  db: Kysely<CampaignTables>,
  launcher: RunLauncher & SendLauncher & CampaignSchedules,
  log: Log,
): Promise<{ stop(): void }> {
  const launched = new LaunchedRuns();
  // None at first, because a process that was killed may have left sends that waited for their turn in its memory.
  let lateSeconds = 0;
  const relaunch = async (): Promise<void> => {
    try {
      for (const run of launched.toBeLaunched(await liveRuns(db))) {
        await launcher.launch(run);
        launched.note(run);
      }
      await lookAtSchedules(db, launcher, log);
      await followPolicy(db, launcher, log);
      await forgetContactUses(db);
      for (const send of await overdueSends(db, lateSeconds)) await launcher.launchSend(send);
      lateSeconds = LATE_SECONDS;
    } catch (error) {
      log.warn(
        { err: error },
        'could not check that live runs have their workflows; trying again in a minute',
      );
    }
  };
  await relaunch();
  const timer = setInterval(relaunch, INTERVAL_MS);
  timer.unref();
  return {
    stop: () => clearInterval(timer),
  };
}

/**
 * Launches the runs and sends that are due and have not begun. A process that only serves requests does this once when it
 * starts: one that was killed may have held them in its memory until their turn, and the workers' looks leave what is
 * due to the process that took it for half a minute. What fails here they launch.
 */
export async function launchNotBegun(
  db: Kysely<CampaignTables>,
  launcher: RunLauncher & SendLauncher,
  log: Log,
): Promise<void> {
  try {
    for (const send of await overdueSends(db, 0)) await launcher.launchSend(send);
    for (const run of await runsNotBegun(db)) await launcher.launch(run);
  } catch (error) {
    log.warn(
      { err: error },
      'could not launch what an earlier process may have left; an orchestrator does within two minutes',
    );
  }
}

/**
 * Runs that had their workflow, as far as this process knows. A launch is a request to the server, so each
 * minute launches only some of thousands of waiting runs, in turn. A server that was restored empty is thus
 * noticed within the hour, even by a process that was not restarted.
 */
export class LaunchedRuns {
  /** The run that was launched longest ago comes first. */
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

/** A planned send is woken again for so long, in case the process that was to wake it was killed. */
const WAKE_MINUTES = 10;
/**
 * One that is late is woken for so long, by each process. Its workflow may be waiting for a service that is away, and takes
 * 10,000 signals in all; each wake is one, and some events of its history.
 */
const WAKE_HOURS = 2;

/**
 * Sends whose workflow did not act when they were due, and planned sends that are due before the next sweep.
 * The others are left out, because a hundred thousand of them may wait for next week, or for the end of a stop.
 * One that is late without an answer is woken, because its workflow may sleep after a wake that was lost: the end of a
 * stop wakes many, and the process that does it may be killed among them.
 */
export async function overdueSends(
  db: Kysely<CampaignTables>,
  lateSeconds = LATE_SECONDS,
): Promise<SendLaunch[]> {
  const soonSeconds = (2 * INTERVAL_MS) / 1000;
  const { rows } = await sql<SendLaunch>`
    select id as "sendId", workspace_id as "workspaceId", launch_at as "startAt",
      accepted_at is null
          and due_at between now() - make_interval(hours => ${WAKE_HOURS}) and now() - make_interval(secs => ${lateSeconds})
        or started_at is null and created_at < due_at and due_at between now() - make_interval(mins => ${WAKE_MINUTES}) and now() as "isDue"
    from durable_sends s
    where finished_at is null and not ${isStopped(sql`s.workspace_id`)} and (due_at < now() - make_interval(secs => ${lateSeconds})
      or (due_at between now() and now() + make_interval(secs => ${soonSeconds}) and started_at is null))
    order by row_number() over (partition by workspace_id order by due_at) limit ${LIMITS.sendsRelaunched}`.execute(
    db,
  );
  return rows;
}
