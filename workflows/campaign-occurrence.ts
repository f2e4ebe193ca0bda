import { workflowInfo } from '@temporalio/workflow';
import type { CampaignOccurrenceInput } from './messages';
import { quick } from './proxies';

/**
 * Runs when a recurring campaign's schedule fires: it takes the due occurrence, and launches its run. The time
 * comes from Temporal, because a worker whose clock is slow would find that the occurrence is not due yet.
 */
export async function campaignOccurrence({
  campaignId,
  workspaceId,
}: CampaignOccurrenceInput): Promise<void> {
  await quick.takeOccurrence({ campaignId, workspaceId, scheduledFor: scheduledFor() });
}

function scheduledFor(): number | null {
  const { searchAttributes } = workflowInfo();
  const [at] = searchAttributes.TemporalScheduledStartTime ?? [];
  return at instanceof Date ? at.getTime() : null;
}
