import { freezeAudience } from '../src/campaigns/audience';
import { audienceOf } from '../src/campaigns/audience-sql';
import { beginRun, loadRun, moveRun } from '../src/campaigns/runs';
import type { Channel } from '../src/domain/channel';
import type { ActivityDeps } from './deps';

export interface FreezeInput {
  runId: string;
  placeholders: Partial<Record<Channel, string[]>>;
}

/** Shards per channel. */
export type ShardPlan = Partial<Record<Channel, number>>;

export function audienceActivities({ db, suppression }: ActivityDeps) {
  return {
    /** False for a run that was withdrawn before its hour came. */
    async beginRun(input: { runId: string }): Promise<boolean> {
      return beginRun(db, input.runId);
    },

    /** Fixes who the run sends to. Repeated, it changes nothing. */
    async freezeRunAudience(input: FreezeInput): Promise<ShardPlan> {
      const run = await loadRun(db, input.runId);
      const plan: ShardPlan = {};
      for (const channel of run.channels) {
        plan[channel] = await freezeAudience(db, {
          runId: run.runId,
          ...audienceOf(run, channel, input.placeholders[channel] ?? [], suppression),
        });
      }
      await moveRun(db, run.runId, 'running');
      return plan;
    },
  };
}
