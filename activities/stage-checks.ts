import { type ReleaseStep, stepRelease } from '../src/campaigns/release/step-release';
import type { RunPlan } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import { databaseNow } from '../src/domain/database-clock';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import { applyControl } from './apply-control';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { stoppingRun } from './stop-run';

/**
 * Takes the due steps of a run that is released in stages (src/campaigns/release/step-release.ts). When a step
 * closes a gate, the service is asked at once to hold the campaign's messages.
 */
export async function lookAtStages(
  deps: ActivityDeps,
  run: RunPlan,
  launch: number | undefined,
): Promise<ReleaseStep> {
  if (!run.options.release) return { shards: [] };
  const step = await stoppingRun(deps.db, { runId: run.runId, launch }, async () =>
    stepRelease(deps.db, run, {
      launch,
      tellsMore: (await deps.gatewayFor(run.workspaceId).capabilities()).has('events'),
      closed: closedChannels(run),
      onStep: stopIfCancelled,
    }),
  );
  if ('kind' in step) return { shards: [] };
  if (step.isClosed) await applyControl(deps, run.runId);
  return step;
}

/** Channels that are closed for all recipients of the run at this hour. */
export function closedChannels(run: RunPlan): Channel[] {
  const now = databaseNow();
  return run.channels.filter((channel) => openHours(run.options, channel).nextForAll(now) > now);
}
