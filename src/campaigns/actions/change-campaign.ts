import type { Kysely, Transaction } from 'kysely';
import { type CampaignRecord, lockCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import type { RunAddress } from '../runs/run-rows';
import { illegal } from './campaign-actions';
import { changeDelivery, type DeliveryChange } from './delivery-change';

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
