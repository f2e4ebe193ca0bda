import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { Consequence } from './campaign-actions';
import { readCampaign } from './campaign-record';
import type { CampaignHolds, CampaignSchedules, RunLauncher } from './ports';
import type { RunAddress } from './runs/run-rows';
import { keepSchedule } from './schedules/schedule-reconciler';
import type { CampaignTables } from './tables';

export interface CarryOutDeps {
  db: Kysely<CampaignTables>;
  launcher: RunLauncher;
  schedules?: CampaignSchedules | undefined;
  holds?: CampaignHolds | undefined;
  log: Log;
}

/** What follows outside the database from a change that is committed. Killed before it, other looks make it good. */
export function createCarryOut({ db, launcher, schedules, holds, log }: CarryOutDeps) {
  /**
   * The run is in the database, and a run without a workflow is launched within a minute (relaunch.ts).
   * To fail the request instead would only make its sender create the campaign twice.
   */
  async function launch(workspaceId: string, campaignId: string, consequence: Consequence): Promise<void> {
    if (consequence.schedule) await followSchedule(campaignId);
    if (!consequence.launch) return;
    const { runId } = consequence.launch;
    try {
      await launcher.launch({ workspaceId, campaignId, startAt: undefined, ...consequence.launch });
    } catch (error) {
      log.warn({ err: error, runId }, 'a run could not be launched; it will be tried again');
    }
  }

  /** What is not followed now is within a minute, and what is due in the meantime is taken all the same. */
  async function followSchedule(campaignId: string): Promise<void> {
    try {
      if (schedules) await keepSchedule(db, schedules, campaignId);
    } catch (error) {
      log.warn({ err: error, campaignId }, 'a schedule could not be kept; it will be tried again');
    }
  }

  /** A resume that came meanwhile has let go what is held here, or will, and must find it so. */
  async function holdNow(workspaceId: string, campaignId: string): Promise<void> {
    try {
      await holds?.hold(workspaceId, campaignId);
      const { run } = await readCampaign(db, workspaceId, campaignId);
      if (run?.control === 'run') await holds?.release(workspaceId, campaignId);
    } catch (error) {
      log.warn({ err: error, campaignId }, 'messages could not be held at once; the run will try');
    }
  }

  /**
   * Pages read the run's row, and the service holds what it has: a workflow that is busy need not be waited for. One
   * that cannot be told fails the call if that is known in time, and is told once more if not.
   */
  async function tellRuns(runs: readonly RunAddress[], answerBy: Promise<void>): Promise<void> {
    const telling = Promise.all(runs.map((run) => launcher.controlChanged(run)));
    let isAnswered = false;
    void telling.catch(async (error: unknown) => {
      if (!isAnswered) return;
      log.warn({ err: error }, 'a run could not be told what its owner wants; telling it once more');
      await Promise.all(runs.map((run) => launcher.controlChanged(run))).catch((again: unknown) =>
        log.warn({ err: again }, 'a run could not be told what its owner wants; it looks by itself'),
      );
    });
    await Promise.race([telling, answerBy]);
    isAnswered = true;
  }

  /** `holds`: the service keeps back what it has; one that is slow to does so behind the answer. */
  async function carryOut(
    workspaceId: string,
    campaignId: string,
    consequence: Consequence,
    wanted: { holds: boolean },
  ): Promise<void> {
    await launch(workspaceId, campaignId, consequence);
    if (!consequence.controlChanged) return;
    const answerBy = delay(LIMITS.controlAnswerMs);
    if (wanted.holds) await Promise.race([holdNow(workspaceId, campaignId), answerBy]);
    await tellRuns(consequence.controlChanged, answerBy);
  }

  return { launch, carryOut };
}
