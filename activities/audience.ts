import { type FreezeStep, freezeNextShard } from '../src/campaigns/audience/freeze-run';
import { dueShards, frozenShards, type ShardRef } from '../src/campaigns/runs/run-end';
import { beginRun, hasPredecessor, loadRun } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import { createTurns } from '../src/domain/in-turns';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { closedChannels, lookAtStages } from './stage-looks';

export type { FreezeStep };

export interface FreezeInput {
  runId: string;
  /** The run's, for which this is done; a workflow of an earlier release does not say it. */
  launch?: number;
  placeholders: Partial<Record<Channel, string[]>>;
}

export interface BegunRun {
  shards: ShardRef[] | null;
  again: boolean;
}

export function audienceActivities(deps: ActivityDeps) {
  const { db, suppression, suppressionEntry } = deps;
  const inTurn = createTurns(LIMITS.audiencePiecesAtOnce);

  async function freeze({ runId, ...input }: FreezeInput): Promise<FreezeStep> {
    const run = await loadRun(db, runId);
    const step = await freezeNextShard(db, run, {
      ...{ ...input, suppression, suppressionEntry, inTurn },
      onPiece: stopIfCancelled,
    });
    if (!step.isOver || !run.options.release) return step;
    // The first stage begins as soon as it is known who is in it.
    await lookAtStages(deps, await loadRun(db, runId), input.launch);
    return { ...step, shards: await dueShards(db, runId, { closed: closedChannels(run) }) };
  }

  return {
    /**
     * False for a run that was withdrawn before its hour came. One whose audience is frozen, and whose
     * workflow is a new one, has its shards already. A run before it may have left the campaign's messages
     * held, as one that failed does. With `mayWait`, the answer may be how long it takes until its hour comes.
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

    /**
     * Fixes more of whom the run sends to, until one more shard can be sent. Repeated after it is over, it changes
     * nothing.
     */
    freezeNextShard: freeze,

    /** All of it, for workflows of earlier releases, which start no shard before. */
    async freezeRunAudience(input: FreezeInput): Promise<ShardRef[]> {
      for (;;) {
        const { shards, isOver } = await freeze(input);
        if (isOver) return shards;
      }
    },
  };
}
