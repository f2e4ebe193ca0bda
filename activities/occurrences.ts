import { databaseNow } from '../src/campaigns/model/database-now';
import { takeOccurrence } from '../src/campaigns/schedules/recurring';
import { isScheduled } from '../src/campaigns/schedules/schedule-reconciler';
import type { ActivityDeps } from './deps';

export function occurrenceActivities({ db, signals }: ActivityDeps) {
  return {
    /**
     * Creates and launches the run of a schedule's due occurrence. Repeated, it launches the same run. If a
     * schedule fires for a campaign without one, a stalled process recreated it; delete it.
     */
    async takeOccurrence(input: {
      campaignId: string;
      workspaceId: string;
      scheduledFor: number | null;
    }): Promise<{ runId: string | null }> {
      const { campaignId, workspaceId, scheduledFor } = input;
      const run = await takeOccurrence(
        db,
        { campaignId, workspaceId },
        Math.max(await databaseNow(db), scheduledFor ?? 0),
      );
      if (run) await signals.launchRun({ campaignId, workspaceId, ...run });
      else if (!(await isScheduled(db, campaignId))) await signals.removeSchedule(campaignId);
      return { runId: run?.runId ?? null };
    },
  };
}
