import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Control, Stage } from '../../domain/campaign';
import { databaseNow } from '../../domain/database-clock';
import { campaignRunWorkflowId } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import { newId } from '../../storage/new-id';
import type { CampaignTables } from '../model/tables';

/** Rows of `runs` as the operator's actions create and end them; runs.ts has what a run changes itself. */

/** When the run's occurrence begins, and the recipients' local time then if each has it at their own hour. */
export interface OccurrenceTime {
  scheduledFor: Date;
  localTime: string | null;
}

const occurrenceColumns = (occurrence: OccurrenceTime | undefined) =>
  sql`${occurrence?.scheduledFor.toISOString() ?? null}::timestamptz, ${occurrence?.localTime ?? null}::text`;

/** When a process is to wake it (watch/planned-launches.ts). */
const plannedFor = (startAt: Date | undefined) => {
  const isAhead = startAt && startAt.getTime() > databaseNow() + LIMITS.plannedAheadMs;
  return sql`${isAhead ? startAt.toISOString() : null}::timestamptz`;
};

/** Inserts the next run of a campaign and makes it the current one. Its workflow is launched after the commit. */
export async function insertRun(
  tx: Transaction<CampaignTables>,
  campaign: {
    id: string;
    workspaceId: string;
    occurrence?: OccurrenceTime | undefined;
    startAt?: Date | undefined;
  },
  stage: Stage,
): Promise<string> {
  const id = newId('run');
  await sql`
    insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, scheduled_for, local_time, codes_counted, launch_at)
    select ${id}, ${campaign.workspaceId}, ${campaign.id}, coalesce(max(number), 0) + 1, 'planning',
      ${campaignRunWorkflowId(id, 1)}, ${occurrenceColumns(campaign.occurrence)}, true,
      ${plannedFor(campaign.startAt)}
    from runs where campaign_id = ${campaign.id}`.execute(tx);
  await sql`
    insert into run_paces (run_id, rate)
    select ${id}, (options #>> '{delivery,ratePerSecond}')::float8 from campaigns
    where id = ${campaign.id} and options #>> '{delivery,ratePerSecond}' is not null`.execute(tx);
  await tx
    .updateTable('campaigns')
    .set({ stage, current_run: id, updated_at: sql<Date>`now()` })
    .where('id', '=', campaign.id)
    .execute();
  return id;
}

/** Records an occurrence that was left out, and why. It never becomes a current run. */
export async function insertLeftOut(
  tx: Transaction<CampaignTables>,
  campaign: { id: string; workspaceId: string; occurrence?: OccurrenceTime | undefined },
  reason: string,
): Promise<string> {
  const id = newId('run');
  await sql`
    insert into runs (id, workspace_id, campaign_id, number, phase, control, reason, workflow_id, scheduled_for, local_time,
      finished_at)
    select ${id}, ${campaign.workspaceId}, ${campaign.id}, coalesce(max(number), 0) + 1, 'canceled', 'cancel',
      ${reason}, ${campaignRunWorkflowId(id, 1)}, ${occurrenceColumns(campaign.occurrence)}, now()
    from runs where campaign_id = ${campaign.id}`.execute(tx);
  return id;
}

/** Ends a run that has not begun. If its workflow wakes all the same, it finds that nothing may be sent. */
export async function withdrawRun(
  tx: Transaction<CampaignTables>,
  runId: string,
  reason = 'withdrawn before it started',
): Promise<void> {
  await sql`
    update runs set phase = 'canceled', control = 'cancel', reason = ${reason},
      finished_at = now()
    where id = ${runId}`.execute(tx);
}

/**
 * Starts an ended run again: with sending if a part of its audience can be sent, otherwise with planning. Its
 * former end and reason are cleared. A new workflow is launched after the commit, because the former one may
 * still be about to close. A run that is reopened only to be canceled takes back what it had not sent, and keeps the reason
 * why it failed. One that failed at a closed gate goes past it, as one that is resumed there: its stages would never go on.
 */
export async function reopenRun(
  tx: Transaction<CampaignTables>,
  run: { id: string; launches: number },
  control: 'run' | 'pause' | 'cancel' = 'run',
): Promise<{ runId: string; launch: number }> {
  const launch = run.launches + 1;
  await sql`
    update runs r set phase = case when ${hasShards} then 'running' else 'planning' end, control = ${control},
      reason = case when ${control} = 'cancel' then reason end, own_reason = null, finished_at = null, launches = ${launch}, workflow_id = ${campaignRunWorkflowId(run.id, launch)}
    where id = ${run.id}`.execute(tx);
  if (control === 'run') await passGates(tx, [run.id]);
  return { runId: run.id, launch };
}

/**
 * Cancels a campaign's failed runs for good, and returns those that have something to take back. A recurring campaign may
 * have several: the service may hand over what an older one left there, because a newer one released the hold.
 * Retention has deleted the recipients of some, which have nothing left.
 */
export async function cancelFailedRuns(
  tx: Transaction<CampaignTables>,
  campaignId: string,
): Promise<RunAddress[]> {
  const failed = await tx
    .selectFrom('runs')
    .select(['id', 'launches', 'reason'])
    .where('campaign_id', '=', campaignId)
    .where('phase', '=', 'failed')
    .where('recipients_deleted_at', 'is', null)
    .orderBy('number', 'desc')
    .forUpdate()
    .execute();
  const takenBack: RunAddress[] = [];
  for (const run of failed) {
    const launch = await cancelFailedRun(tx, run);
    if (launch) takenBack.push(launch);
  }
  return takenBack;
}

/** If freezing had not begun, there are no recipients and nothing to take back. */
async function cancelFailedRun(
  tx: Transaction<CampaignTables>,
  run: { id: string; launches: number; reason: string | null },
): Promise<RunAddress | undefined> {
  const launch = await reopenRun(tx, run, 'cancel');
  const { rows } = await sql<{ begun: boolean }>`
    select ${hasShards} or exists (select from audience_freezes f where f.run_id = r.id) as begun
    from runs r where id = ${run.id}`.execute(tx);
  if (rows[0]?.begun) return launch;
  await withdrawRun(tx, run.id, run.reason ?? undefined);
  return undefined;
}

/** Reasons of runs that ended before they began: withdrawn, or left out by their schedule. */
const NEVER_BEGAN = /^(?:withdrawn|misfire|overlap)\b/;

/** When a run began; its row has a time from the moment it was made. */
export const beganAt = ({
  phase,
  reason,
  started_at: at,
}: Pick<Selectable<CampaignTables['runs']>, 'phase' | 'reason' | 'started_at'>): Date | null =>
  phase === 'canceled' && NEVER_BEGAN.test(reason ?? '') ? null : at;

const hasShards = sql`exists (select from shards s where s.run_id = r.id)`;

export interface LiveRow {
  id: string;
  launches: number;
  scheduledFor: Date | null;
  control: Control;
}

/**
 * Runs of a campaign that continue, the newest first. There are several where each recipient has an occurrence
 * at their own hour.
 */
export async function liveRunsOf(db: Kysely<CampaignTables>, campaignId: string): Promise<LiveRow[]> {
  return db
    .selectFrom('runs')
    .select(['id', 'launches', 'scheduled_for as scheduledFor', 'control'])
    .where('campaign_id', '=', campaignId)
    .where('phase', 'in', ['planning', 'running', 'finishing'])
    .orderBy('number', 'desc')
    .execute();
}

/** Sets what the operator wants of all these runs, where that is new. Each is signalled after the commit. */
export async function controlLiveRuns(
  tx: Transaction<CampaignTables>,
  campaignId: string,
  to: Control,
  from: readonly Control[],
): Promise<RunAddress[]> {
  const changed = await tx
    .updateTable('runs')
    .set({ control: to, own_reason: null })
    .where('campaign_id', '=', campaignId)
    .where('control', 'in', from)
    .where('phase', 'in', ['planning', 'running', 'finishing'])
    .returning('id')
    .execute();
  const runIds = changed.map(({ id }) => id);
  if (to === 'run') await passGates(tx, runIds);
  if (to === 'pause') await keepPaused(tx, campaignId);
  return (await liveRunsOf(tx, campaignId)).map(addressOf);
}

/** A run that waits for an approval, and that its owner pauses too, does not go on by the approval alone. */
async function keepPaused(tx: Transaction<CampaignTables>, campaignId: string): Promise<void> {
  await sql`
    update runs set own_reason = null
    where campaign_id = ${campaignId} and control = 'pause' and own_reason ->> 'code' = 'approval_required'
      and phase in ('planning', 'running', 'finishing')`.execute(tx);
}

/** Resuming a run at a closed gate passes the gate: the gates of that stage are not evaluated again. */
async function passGates(tx: Transaction<CampaignTables>, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  await sql`
    update run_releases set closed_at = null, passed_to = stage
    where run_id = any(${runIds}::text[]) and closed_at is not null`.execute(tx);
}

/** Identifies a run's workflow. */
export interface RunAddress {
  runId: string;
  launch: number;
}

export const addressOf = ({ id, launches }: Pick<LiveRow, 'id' | 'launches'>): RunAddress => ({
  runId: id,
  launch: launches,
});
