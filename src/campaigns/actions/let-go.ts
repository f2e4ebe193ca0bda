import { type Kysely, sql, type Transaction } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import { DomainError } from '../../domain/errors';
import { requireApproval } from '../approval/approval-rule';
import { type CampaignRecord, lockCampaign } from '../model/campaign-record';
import type { IdempotencyMark } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { lockRelease } from '../release/release-rows';
import { loadRun } from '../runs/runs';
import { illegal, requireApprovedDraft } from './campaign-actions';

/**
 * The operator ends the wait after the stage that has begun, and after as many of the following as they say.
 * A stage that is being sent is sent to its end, and its gates are evaluated all the same. Only the wait
 * between is skipped. Where occurrences go on side by side it is about all of them, as a pause is: no other call would
 * reach an older one.
 */
export async function letGo(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  { stages, note }: { stages: number | 'all'; note?: IdempotencyMark | undefined },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    const noted = note && (await note.execute(tx)).rows[0];
    if (noted && noted.attempt > 1) return;
    await requireApprovedDraft(tx, workspaceId, campaign);
    const runIds = await requireWaiting(tx, workspaceId, campaign);
    await requireApproval(tx, workspaceId, campaign, 'release');
    for (const runId of runIds) await letRunGo(tx, campaign, runId, stages);
  });
}

async function letRunGo(
  tx: Transaction<CampaignTables>,
  campaign: CampaignRecord,
  runId: string,
  stages: number | 'all',
): Promise<void> {
  const at = await lockRelease(tx, await loadRun(tx, runId));
  if (at.closedAt) throw gateIsClosed(campaign);
  const upto = stages === 'all' ? at.stages : Math.min(at.stages, Math.max(1, at.stage) + stages - 1);
  await tx
    .updateTable('run_releases')
    .set({ released_to: Math.max(upto, at.releasedTo) })
    .where('run_id', '=', runId)
    .execute();
  if (at.sentAt) await endWait(tx, runId, at.stage);
}

async function requireWaiting(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
): Promise<string[]> {
  const { options, phase } = campaign;
  if (!options.release) throw notInStages(campaign);
  const going = await goingRuns(tx, workspaceId, campaign.id);
  // A recurring campaign is `scheduled` also while an occurrence of it goes on.
  const hasBegun = phase !== 'draft' && (phase !== 'scheduled' || options.schedule?.cron !== undefined);
  if (going.length === 0 || !hasBegun) throw illegal(campaign, 'release');
  if (going.some(({ own_reason }) => own_reason?.code === 'gate')) throw gateIsClosed(campaign);
  return going.map((run) => run.id);
}

function goingRuns(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<{ id: string; own_reason: OwnReason | null }[]> {
  return tx
    .selectFrom('runs')
    .select(['id', 'own_reason'])
    .where('workspace_id', '=', workspaceId)
    .where('campaign_id', '=', campaignId)
    .where('phase', 'in', ['planning', 'running', 'finishing'])
    .where('control', 'in', ['run', 'pause'])
    .orderBy('id')
    .execute();
}

/** The look wakes the run within a second, whatever becomes of this process. */
async function endWait(tx: Transaction<CampaignTables>, runId: string, stage: number): Promise<void> {
  await sql`
    update run_stages set next_at = clock_timestamp()
    where run_id = ${runId} and stage = ${stage} and (next_at is null or next_at > clock_timestamp())`.execute(
    tx,
  );
  await sql`insert into run_looks (run_id) values (${runId})`.execute(tx);
}

const notInStages = ({ id, phase }: CampaignRecord) =>
  new DomainError('illegal_transition', `Campaign ${id} is not released in stages: it has no release`, {
    phase,
  });

const gateIsClosed = ({ id, phase }: CampaignRecord) =>
  new DomainError(
    'illegal_transition',
    `A gate of campaign ${id} is closed (${phase}): resume it to go past the gate, or cancel it`,
    { phase },
  );
