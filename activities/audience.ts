import { freezeAudience } from '../src/campaigns/audience/audience';
import { audienceOf } from '../src/campaigns/audience/audience-sql';
import { frozenShards, type ShardRef } from '../src/campaigns/runs/run-end';
import { beginRun, hasPredecessor, loadRun, moveRun } from '../src/campaigns/runs/runs';
import type { Channel } from '../src/domain/channel';
import type { ActivityDeps } from './deps';

export interface FreezeInput {
  runId: string;
  placeholders: Partial<Record<Channel, string[]>>;
}

export interface BegunRun {
  shards: ShardRef[] | null;
  again: boolean;
}

export function audienceActivities({ db, suppression }: ActivityDeps) {
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

    /** Fixes who the run sends to. Repeated, it changes nothing. */
    async freezeRunAudience(input: FreezeInput): Promise<ShardRef[]> {
      const run = await loadRun(db, input.runId);
      const inTurns = run.options.strategy === 'fallback';
      for (const [i, channel] of run.channels.entries()) {
        await freezeAudience(db, {
          runId: run.runId,
          turn: inTurns ? i : undefined,
          policyVersion: run.policyVersion,
          ...audienceOf(run, channel, input.placeholders[channel] ?? [], suppression),
        });
      }
      await moveRun(db, run.runId, 'running');
      return (await frozenShards(db, run.runId)) ?? [];
    },
  };
}
