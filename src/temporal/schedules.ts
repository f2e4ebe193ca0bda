import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { campaignOccurrence } from '../../workflows';
import type { CampaignOccurrenceInput } from '../../workflows/messages';
import type { CampaignSchedules } from '../campaigns/model/dependencies';
import { withBothDays } from '../domain/cron';
import { campaignScheduleId, occurrenceWorkflowId } from '../domain/ids';
import { LIMITS } from '../domain/limits';
import { TASK_QUEUES } from '../domain/task-queues';

/**
 * Temporal schedules of recurring campaigns. They are only clocks: which occurrence is due, and whether a
 * missed one is still sent, is decided with the database (campaigns/schedules/recurring.ts). One waiting start
 * is therefore enough. An occurrence that Temporal misses when clocks are put forward or back is late and not
 * lost.
 */
export function createSchedules(client: Client): CampaignSchedules {
  return {
    async keepSchedule({ campaignId, workspaceId, cron, timezone, startAt, endAt, isPaused }) {
      const scheduleId = campaignScheduleId(campaignId);
      const options = {
        spec: {
          cronExpressions: withBothDays(cron),
          timezone,
          ...(startAt ? { startAt } : {}),
          ...(endAt ? { endAt } : {}),
        },
        action: {
          type: 'startWorkflow',
          workflowType: 'campaignOccurrence' satisfies (typeof campaignOccurrence)['name'],
          workflowId: occurrenceWorkflowId(campaignId),
          taskQueue: TASK_QUEUES.orchestrator,
          args: [{ campaignId, workspaceId } satisfies CampaignOccurrenceInput],
        },
        policies: {
          overlap: ScheduleOverlapPolicy.SKIP,
          catchupWindow: LIMITS.scheduleCatchUpSeconds * 1_000,
        },
        state: { paused: isPaused },
      } as const;
      try {
        await client.schedule.create({ scheduleId, ...options });
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await client.schedule.getHandle(scheduleId).update(() => options);
      }
    },

    async removeSchedule(campaignId) {
      try {
        await client.schedule.getHandle(campaignScheduleId(campaignId)).delete();
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },
  };
}
