import { type ReleaseStep, stepRelease } from '../src/campaigns/release/step-release';
import type { RunPlan } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import { applyControl } from './apply-control';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { stoppingRun } from './stop-run';

/**
 * Takes the steps of a run that is released in stages (src/campaigns/release/step-release.ts). A gate that closes with
 * them is put into force at once: the service holds what it has of the campaign.
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

/** The channels of a run that are closed at this hour for all recipients. */
export function closedChannels(run: RunPlan): Channel[] {
  const now = Date.now();
  return run.channels.filter((channel) => openHours(run.options, channel).nextForAll(now) > now);
}
