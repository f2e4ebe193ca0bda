import { takeOccurrence } from '../src/campaigns/schedules/recurring';
import type { ActivityDeps } from './deps';

export function occurrenceActivities({ db, signals }: ActivityDeps) {
  return {
    /** Makes the run of what is due, and launches it. Repeated, it launches the same run. */
    async takeOccurrence(input: {
      campaignId: string;
      workspaceId: string;
      scheduledFor: number | null;
    }): Promise<{ runId: string | null }> {
      const { campaignId, workspaceId, scheduledFor } = input;
      const run = await takeOccurrence(
        db,
        { campaignId, workspaceId },
        Math.max(Date.now(), scheduledFor ?? 0),
      );
      if (run) await signals.launchRun({ campaignId, workspaceId, ...run });
      return { runId: run?.runId ?? null };
    },
  };
}
