import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import { atMost } from '../model/at-most';
import type { CampaignHolds, CampaignSchedules, RunLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { liveRunsOf, type RunAddress } from '../runs/run-rows';
import { keepSchedule } from '../schedules/schedule-reconciler';
import type { WorkflowEffects } from './campaign-actions';

export interface CarryOutDeps {
  db: Kysely<CampaignTables>;
  launcher: RunLauncher;
  schedules?: CampaignSchedules | undefined;
  holds?: CampaignHolds | undefined;
  log: Log;
}

/** A recurring campaign may have as many failed occurrences as it had days. */
const LAUNCHES_AT_ONCE = 8;

/** Carries a committed change out of the database. If the process is killed before, the reconcilers do it within a minute. */
export function createCarryOut(deps: CarryOutDeps) {
  return new CarryOut(deps);
}

class CarryOut {
  constructor(private readonly deps: CarryOutDeps) {}

  /**
   * Launches the run, and only logs a failure. The run is in the database, and a run without a workflow is
   * launched within a minute (run-reconciler.ts). Failing the request, or keeping it for as long as Temporal is
   * silent, would only make its sender create the campaign twice.
   */
  readonly launch = (workspaceId: string, campaignId: string, effects: WorkflowEffects): Promise<void> =>
    atMost(LIMITS.controlAnswerMs, this.launchNow(workspaceId, campaignId, effects));

  private async launchNow(workspaceId: string, campaignId: string, effects: WorkflowEffects): Promise<void> {
    if (effects.schedule) await this.followSchedule(campaignId);
    if (!effects.launch) return;
    const { runId } = effects.launch;
    try {
      await this.deps.launcher.launch({ workspaceId, campaignId, startAt: undefined, ...effects.launch });
    } catch (error) {
      this.deps.log.warn(
        { err: error, runId },
        'could not start the workflow of a run; trying again within a minute',
      );
    }
  }

  /** With `holds` the service holds the campaign's messages; a slow service goes on with it after the answer. */
  readonly carryOut = async (
    workspaceId: string,
    campaignId: string,
    effects: WorkflowEffects,
    wanted: { holds: boolean },
  ): Promise<void> => {
    await this.launch(workspaceId, campaignId, effects);
    const { controlChanged = [], takenBack = [] } = effects;
    if (controlChanged.length + takenBack.length === 0) return;
    const answerBy = delay(LIMITS.controlAnswerMs);
    if (wanted.holds) await Promise.race([this.holdNow(workspaceId, campaignId), answerBy]);
    const launching = inParallel(takenBack, LAUNCHES_AT_ONCE, (launch) =>
      this.launch(workspaceId, campaignId, { launch }),
    );
    await Promise.race([launching, answerBy]);
    await this.tellRuns(controlChanged, answerBy);
  };

  /** If this fails, the reconciler that runs every minute repeats it, and takes what is due in the meantime. */
  private async followSchedule(campaignId: string): Promise<void> {
    try {
      if (this.deps.schedules) await keepSchedule(this.deps.db, this.deps.schedules, campaignId);
    } catch (error) {
      this.deps.log.warn(
        { err: error, campaignId },
        'could not update the Temporal schedule of a campaign; trying again within a minute',
      );
    }
  }

  /**
   * Holds the messages at the service now. If the campaign was resumed in between, it releases them again,
   * because the resume may have released before this hold.
   */
  private async holdNow(workspaceId: string, campaignId: string): Promise<void> {
    try {
      await this.deps.holds?.hold(workspaceId, campaignId);
      const live = await liveRunsOf(this.deps.db, campaignId);
      if (live.some(({ control }) => control === 'run'))
        await this.deps.holds?.release(workspaceId, campaignId);
    } catch (error) {
      this.deps.log.warn(
        { err: error, campaignId },
        'could not hold the messages of a campaign at the service; its run will try again',
      );
    }
  }

  /**
   * Signals runs about their control, but answers without waiting for a busy workflow: pages read the run's
   * row, and the service holds what it has. A failure fails the call if it is known in time; otherwise it is
   * tried once more.
   */
  private async tellRuns(runs: readonly RunAddress[], answerBy: Promise<void>): Promise<void> {
    const telling = Promise.all(runs.map((run) => this.deps.launcher.controlChanged(run)));
    let isAnswered = false;
    void telling.catch(async (error: unknown) => {
      if (!isAnswered) return;
      this.deps.log.warn({ err: error }, 'could not signal a run about its new control; trying once more');
      await Promise.all(runs.map((run) => this.deps.launcher.controlChanged(run))).catch((again: unknown) =>
        this.deps.log.warn(
          { err: again },
          'could not signal a run about its new control; the run will read it by itself',
        ),
      );
    });
    await Promise.race([telling, answerBy]);
    isAnswered = true;
  }
}
