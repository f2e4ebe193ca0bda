import { type FreezeStep, freezeNextShard } from '../src/campaigns/audience/freeze-run';
import { dueShards, frozenShards, type ShardRef } from '../src/campaigns/runs/run-end';
import { beginRun, hasPredecessor, loadRun } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import { createTurns } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { closedChannels, lookAtStages } from './stage-checks';

export type { FreezeStep };

export interface FreezeInput {
  runId: string;
  /** Number of the run's launch that asks for this. A workflow of an earlier release does not give it. */
  launch?: number;
  placeholders: Partial<Record<Channel, string[]>>;
}

export interface BegunRun {
  shards: ShardRef[] | null;
  again: boolean;
}

export function audienceActivities(deps: ActivityDeps) {
  const { db, suppression, suppressionEntry, foreground } = deps;
  const turns = createTurns(LIMITS.audiencePiecesAtOnce);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    turns(async () => {
      await foreground?.pass();
      return work();
    });

  async function freeze({ runId, ...input }: FreezeInput): Promise<FreezeStep> {
    const run = await loadRun(db, runId);
    const step = await freezeNextShard(db, run, {
      ...{ ...input, suppression, suppressionEntry, inTurn },
      onPiece: stopIfCancelled,
    });
    if (!step.isOver || !run.options.release) return step;
    // The first stage begins as soon as its recipients are known.
    await lookAtStages(deps, await loadRun(db, runId), input.launch);
    return { ...step, shards: await dueShards(db, runId, { closed: closedChannels(run) }) };
  }

  return {
    /**
     * Returns false for a run that was withdrawn before its start time. If the audience is frozen already (the
     * workflow was started anew), `shards` lists its shards. `again` says that an earlier run of the campaign
     * may have left messages held, as a failed run does. With `mayWait`, the answer may be the time until the
     * run starts.
     */
    async beginRun(input: {
      runId: string;
      launch?: number;
      mayWait?: boolean;
    }): Promise<BegunRun | { waitMs: number } | false> {
      const begun = await beginRun(db, input.runId, input);
      if (begun !== true) return begun;
      return {
        shards: (await frozenShards(db, input.runId)) ?? null,
        again: await hasPredecessor(db, input.runId),
      };
    },

    /** Freezes more of the audience, until one more shard can be sent. A call after the end changes nothing. */
    freezeNextShard: freeze,

    /**
     * Freezes the whole audience. Only workflows of earlier releases call it, because they start no shard
     * before the end.
     */
    async freezeRunAudience(input: FreezeInput): Promise<ShardRef[]> {
      for (;;) {
        const { shards, isOver } = await freeze(input);
        if (isOver) return shards;
      }
    },
  };
}
