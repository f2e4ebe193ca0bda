import type { Kysely } from 'kysely';
import { DELIVERY_CHANGING } from '../domain/campaign';
import { endingOf, illegal } from './campaign-actions';
import { type CampaignOptions, lockCampaign } from './campaign-record';
import { setPace } from './runs/rate-limit';
import { addressOf, liveRunsOf, type RunAddress } from './runs/run-rows';
import { hasSchedule } from './schedules/recurring';
import type { CampaignTables } from './tables';

/** The members of `delivery` that may change while a campaign runs; null removes a limit. */
export interface DeliveryChange {
  ratePerSecond?: number | null | undefined;
  maxConcurrentCalls?: number | null | undefined;
}

/**
 * Changes how a campaign is delivered. Senders read the rate with every lot of permits, so that it applies
 * within a second or two. They read the limit of concurrent calls with every call (call-slots.ts).
 */
export async function changeDelivery(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  change: DeliveryChange,
): Promise<{ tell: RunAddress[] }> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    if (!DELIVERY_CHANGING.includes(campaign.phase) || endingOf(campaign)) {
      throw illegal(campaign, 'changing its delivery');
    }
    const options = { ...campaign.options, delivery: changed(campaign.options.delivery, change) };
    await tx
      .updateTable('campaigns')
      .set({ options: JSON.stringify(options), updated_at: new Date() })
      .where('id', '=', campaignId)
      .where('workspace_id', '=', workspaceId)
      .execute();
    if (change.ratePerSecond === undefined) return { tell: [] };
    const runs = await liveRunsOf(tx, campaignId);
    for (const { id } of runs) await setPace(tx, id, change.ratePerSecond);
    return { tell: campaign.stage !== 'scheduled' || hasSchedule(campaign) ? runs.map(addressOf) : [] };
  });
}

function changed(
  before: CampaignOptions['delivery'],
  { ratePerSecond, maxConcurrentCalls }: DeliveryChange,
): NonNullable<CampaignOptions['delivery']> {
  const after = { ...before };
  if (ratePerSecond === null) delete after.ratePerSecond;
  else if (ratePerSecond !== undefined) after.ratePerSecond = ratePerSecond;
  if (maxConcurrentCalls === null) delete after.maxConcurrentCalls;
  else if (maxConcurrentCalls !== undefined) after.maxConcurrentCalls = maxConcurrentCalls;
  return after;
}
