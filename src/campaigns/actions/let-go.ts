import { type Kysely, sql, type Transaction } from 'kysely';
import { isLive } from '../../domain/campaign';
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
 * between is skipped.
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
    const runId = requireWaiting(campaign);
    await requireApproval(tx, workspaceId, campaign, 'release');
    const at = await lockRelease(tx, await loadRun(tx, runId));
    if (at.closedAt) throw gateIsClosed(campaign);
    const upto = stages === 'all' ? at.stages : Math.min(at.stages, Math.max(1, at.stage) + stages - 1);
    await tx
      .updateTable('run_releases')
      .set({ released_to: Math.max(upto, at.releasedTo) })
      .where('run_id', '=', runId)
      .execute();
    if (at.sentAt) await endWait(tx, runId, at.stage);
  });
}

function requireWaiting(campaign: CampaignRecord): string {
  const { run, options, phase } = campaign;
  if (!options.release) throw notInStages(campaign);
  const isGoing = run && isLive(run.phase) && (run.control === 'run' || run.control === 'pause');
  // A recurring campaign is `scheduled` also while an occurrence of it goes on.
  const hasBegun = phase !== 'draft' && (phase !== 'scheduled' || options.schedule?.cron !== undefined);
  if (!isGoing || !hasBegun || campaign.stage === 'draft') throw illegal(campaign, 'release');
  if (run.own_reason?.code === 'gate') throw gateIsClosed(campaign);
  return run.id;
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
