import { type Kysely, sql, type Transaction } from 'kysely';
import type { Approval } from '../../domain/approval';
import { isLive } from '../../domain/campaign';
import { DomainError } from '../../domain/errors';
import { contactsOf, standingExcess } from '../approval/approval-rule';
import { forgetDigests, requireSame } from '../approval/digest';
import { type CampaignRecord, lockCampaign } from '../model/campaign-record';
import { databaseNow } from '../model/database-now';
import type { IdempotencyMark } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { addressOf, type RunAddress } from '../runs/run-rows';
import { illegal, startDraft, toldAgain, type WorkflowEffects } from './campaign-actions';

type Tx = Transaction<CampaignTables>;

export interface ApproveCall {
  digest: string;
  userId: string;
  note?: IdempotencyMark | undefined;
}

/**
 * Writes the approval down together with what follows from it, so that neither is ever there alone: a draft
 * starts, and runs that wait for the approval go on. A run that its owner has paused stays paused, and may be
 * resumed; so does one that has ended, which may be resumed or send again from then on.
 */
export async function approveCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  { digest, userId, note }: ApproveCall,
): Promise<WorkflowEffects> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    refuseOwn(campaign, userId);
    const noted = note && (await note.execute(tx)).rows[0];
    if (noted && noted.attempt > 1) return toldAgain(tx, campaign, 'resume');
    // Members who came and went since may have been frozen in between, which no digest shows: that waits for another approval.
    const isApproved = campaign.approval?.digest === digest;
    if (isApproved && !(await standingExcess(tx, workspaceId, campaign, 'resume')))
      return toldAgain(tx, campaign, 'resume');
    if (campaign.stage !== 'draft' && !mayGoOn(campaign)) throw illegal(campaign, 'approve');
    const shown = await requireSame(tx, workspaceId, campaign, digest);
    // A frozen audience counts as it was frozen, because contacts who have left the lists since are sent to
    // as well.
    const contacts = Math.max(
      shown,
      campaign.stage === 'draft' ? 0 : await contactsOf(tx, campaign, 'resume'),
    );
    const at = new Date(await databaseNow(tx)).toISOString();
    await writeApproval(tx, workspaceId, campaignId, { by: userId, at, digest, contacts });
    await forgetDigests(tx, workspaceId, campaignId);
    if (campaign.stage === 'draft') return startDraft(tx, workspaceId, campaign);
    const told = await letGoOn(tx, workspaceId, campaignId);
    return told.length > 0 ? { controlChanged: told } : {};
  });
}

/** Fails with `own_campaign` for the user who created it, or for whom a client did. */
export function refuseOwn({ id, createdBy }: CampaignRecord, userId: string): void {
  if (createdBy !== userId) return;
  throw new DomainError(
    'own_campaign',
    `Campaign ${id} was created by this user: another person must approve it`,
  );
}

/** From now on the campaign has no approval. */
export async function takeBack(tx: Tx, workspaceId: string, campaignId: string): Promise<void> {
  await writeApproval(tx, workspaceId, campaignId, null);
}

async function writeApproval(
  tx: Tx,
  workspaceId: string,
  campaignId: string,
  approval: Approval | null,
): Promise<void> {
  await tx
    .updateTable('campaigns')
    .set({ approval: approval && JSON.stringify(approval), updated_at: sql<Date>`now()` })
    .where('id', '=', campaignId)
    .where('workspace_id', '=', workspaceId)
    .execute();
}

/** A recurring campaign goes on as long as its schedule does; one that has failed or completed is resumed or sends again. */
function mayGoOn({ stage, run }: CampaignRecord): boolean {
  if (stage === 'scheduled' || stage === 'held') return true;
  if (!run || run.phase === 'canceled') return false;
  return !isLive(run.phase) || run.control === 'run' || run.control === 'pause';
}

/** Runs that were paused because they had no approval, and no others. */
async function letGoOn(tx: Tx, workspaceId: string, campaignId: string): Promise<RunAddress[]> {
  const { rows } = await sql<{ id: string; launches: number }>`
    update runs set control = 'run', own_reason = null
    where workspace_id = ${workspaceId} and campaign_id = ${campaignId} and control = 'pause'
      and own_reason ->> 'code' = 'approval_required' and phase in ('planning', 'running', 'finishing')
    returning id, launches`.execute(tx);
  return rows.map((row) => addressOf(row));
}
