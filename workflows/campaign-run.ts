import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  executeChild,
  getExternalWorkflowHandle,
  setHandler,
} from '@temporalio/workflow';
import type { ShardPlan } from '../activities/audience';
import { CHANNELS, type Channel } from '../src/domain/channel';
import { channelShardWorkflowId } from '../src/domain/ids';
import { channelShard } from './channel-shard';
import { type CampaignRunInput, controlChangedUpdate, wakeSignal } from './messages';
import { long, quick } from './proxies';

/**
 * One execution of a campaign: plans it, starts its shards, puts its owner's wishes into force, waits for
 * the outcomes and closes the books. The run's row in the database says what the owner wants; this
 * workflow is told when it changed.
 */
export async function campaignRun(input: CampaignRunInput): Promise<void> {
  const { runId, workspaceId } = input;
  const live = new Set<string>();

  setHandler(controlChangedUpdate, async () => {
    await long.applyControl({ runId });
    for (const shard of live) {
      // One that ends at this very moment needs no waking.
      await getExternalWorkflowHandle(shard)
        .signal(wakeSignal)
        .catch(() => undefined);
    }
  });

  try {
    if (!(await quick.beginRun({ runId }))) return;
    await quick.refreshToken({ workspaceId });
    const placeholders = await quick.lookUpTemplates({ runId });
    const plan = await long.freezeRunAudience({ runId, placeholders });
    await quick.ensureOutcomeFeed({ workspaceId });
    await runShards(runId, plan, live);
    const end = await settle(runId);
    if (end === 'canceled') await long.cancelRemaining({ runId });
    await quick.closeRun({ runId, phase: end });
  } catch (error) {
    const reason = failureReason(error);
    if (reason === undefined) throw error;
    await quick.closeRun({ runId, phase: 'failed', reason });
  }
  await condition(allHandlersFinished);
}

/** Until every shard has done its slice; one that fails stops the others, since the reason concerns all. */
async function runShards(runId: string, plan: ShardPlan, live: Set<string>): Promise<void> {
  await CancellationScope.cancellable(async () => {
    const shards = CHANNELS.flatMap((channel) =>
      Array.from({ length: plan[channel] ?? 0 }, (_, shard) => runShard(runId, channel, shard, live)),
    );
    try {
      await Promise.all(shards);
    } catch (error) {
      CancellationScope.current().cancel();
      await Promise.allSettled(shards);
      throw error;
    }
  });
}

async function runShard(runId: string, channel: Channel, shard: number, live: Set<string>): Promise<void> {
  const workflowId = channelShardWorkflowId(runId, channel, shard);
  live.add(workflowId);
  try {
    await executeChild(channelShard, { workflowId, args: [{ runId, channel, shard }] });
  } finally {
    live.delete(workflowId);
  }
}

async function settle(runId: string): Promise<'completed' | 'canceled'> {
  for (;;) {
    const found = await long.awaitSettled({ runId });
    if (found !== 'again') return found === 'settled' ? 'completed' : 'canceled';
  }
}

/** Why the run cannot go on, for its owner; undefined when the error is not a failure of the run's work. */
function failureReason(error: unknown): string | undefined {
  let cause: unknown = error;
  while (cause instanceof ActivityFailure || cause instanceof ChildWorkflowFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : undefined;
}
