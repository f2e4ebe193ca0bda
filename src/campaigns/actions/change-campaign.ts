import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Transaction } from 'kysely';
import { DELIVERY_CHANGING } from '../../domain/campaign';
import { standingExcess } from '../approval/approval-rule';
import { type CampaignOptions, type CampaignRecord, lockCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { pauseItself, showPaused } from '../runs/own-pause';
import { setPace } from '../runs/rate-limit';
import { addressOf, type LiveRow, liveRunsOf, type RunAddress } from '../runs/run-rows';
import { countChange } from '../runs/runs';
import { hasSchedule } from '../schedules/recurring';
import { takeBack } from './approve';
import { endingOf, illegal } from './campaign-actions';

/** What may change of a campaign in any phase, and how it is delivered, which may change until it ends. */
export interface CampaignChange {
  name?: string | undefined;
  tags?: string[] | undefined;
  archived?: boolean | undefined;
  delivery?: DeliveryChange | undefined;
}

/**
 * Changes all that is given, or nothing: a campaign that is live is not archived, and one that has ended takes no other
 * delivery. Answers with the runs that must hear of it.
 */
export async function amendCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  change: CampaignChange,
): Promise<{ tell: RunAddress[] }> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    if (change.archived && !MAY_BE_ARCHIVED.includes(campaign.phase)) throw illegal(campaign, 'archiving it');
    const told = change.delivery && (await changeDelivery(tx, workspaceId, campaign, change.delivery));
    await describe(tx, workspaceId, campaign, change);
    return told ?? { tell: [] };
  });
}

const MAY_BE_ARCHIVED: readonly CampaignRecord['phase'][] = ['draft', 'completed', 'canceled', 'failed'];

async function describe(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
  { name = campaign.name, tags = campaign.tags, archived }: CampaignChange,
): Promise<void> {
  const kept = campaign.archivedAt;
  await tx
    .updateTable('campaigns')
    .set({ name, tags, archived_at: archived === undefined ? kept : archived ? (kept ?? new Date()) : null })
    .set({ updated_at: new Date() })
    .where('id', '=', campaign.id)
    .where('workspace_id', '=', workspaceId)
    .execute();
}

/** The members of `delivery` that may change while a campaign runs; null removes a limit. */
export interface DeliveryChange {
  ratePerSecond?: number | null | undefined;
  maxConcurrentCalls?: number | null | undefined;
}

/**
 * Changes how a campaign, which the transaction has locked, is delivered. Senders read the rate with every lot of permits, so that it applies
 * within a second or two. They read the limit of concurrent calls with every call (call-slots.ts).
 */
async function changeDelivery(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
  change: DeliveryChange,
): Promise<{ tell: RunAddress[] }> {
  if (!DELIVERY_CHANGING.includes(campaign.phase) || endingOf(campaign)) {
    throw illegal(campaign, 'changing its delivery');
  }
  const delivery = changed(campaign.options.delivery, change);
  const options = { ...campaign.options, delivery };
  await tx
    .updateTable('campaigns')
    .set({ options: JSON.stringify(options), updated_at: new Date() })
    .where('id', '=', campaign.id)
    .where('workspace_id', '=', workspaceId)
    .execute();
  const runs = await liveRunsOf(tx, campaign.id);
  const held =
    !isDeepStrictEqual(delivery, campaign.options.delivery ?? {}) &&
    (await askAgain(tx, workspaceId, campaign, runs));
  if (change.ratePerSecond === undefined && !held) return { tell: [] };
  if (change.ratePerSecond !== undefined)
    for (const { id } of runs) await setPace(tx, id, change.ratePerSecond);
  const concerned = campaign.stage !== 'scheduled' || hasSchedule(campaign) ? runs : [];
  await countChange(
    tx,
    concerned.map(({ id }) => id),
  );
  return { tell: concerned.map(addressOf) };
}

/**
 * Takes the approval back, because it was of the delivery as it was. Runs that are sending to more contacts than may be
 * sent to without one are paused; one that has not begun finds out when it freezes its audience.
 */
async function askAgain(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
  runs: readonly LiveRow[],
): Promise<boolean> {
  if (campaign.approval) await takeBack(tx, workspaceId, campaign.id);
  if (campaign.stage === 'scheduled' && !hasSchedule(campaign)) return false;
  const excess = await standingExcess(tx, workspaceId, { ...campaign, approval: null }, 'release');
  if (!excess) return false;
  for (const { id } of runs) await pauseItself(tx, id, { code: 'approval_required', ...excess });
  if (runs[0]) await showPaused(tx, runs[0].id);
  return true;
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
