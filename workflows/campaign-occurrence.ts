import { workflowInfo } from '@temporalio/workflow';
import type { CampaignOccurrenceInput } from './messages';
import { quick } from './proxies';

/**
 * A recurring campaign's hour has come: what is due is taken, and its run launched. Temporal says which hour it
 * was started for, lest a worker whose clock is behind finds that it has not come yet.
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
