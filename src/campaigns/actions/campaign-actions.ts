import { type Kysely, sql, type Transaction } from 'kysely';
import { ACTIONS, type Action, type Control, isLive } from '../../domain/campaign';
import { databaseNow } from '../../domain/database-clock';
import { DomainError } from '../../domain/errors';
import { nextIn, recurrenceOf } from '../../domain/recurrence';
import { type HourOptions, runStart } from '../../domain/time-zones/recipient-hours';
import { requireApproval } from '../approval/approval-rule';
import { type CampaignRecord, lockCampaign } from '../model/campaign-record';
import type { IdempotencyMark } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { frozenShards } from '../runs/run-end';
import {
  addressOf,
  cancelFailedRuns,
  controlLiveRuns,
  insertRun,
  liveRunsOf,
  reopenRun,
  withdrawRun,
} from '../runs/run-rows';
import { beginSchedule, hasSchedule, type ScheduleChange, steerSchedule } from '../schedules/recurring';
import { requireAudience, requireLists } from './campaign-checks';

/** Signals and launches that follow once the change is committed. */
export type WorkflowEffects = ScheduleChange;

type Tx = Transaction<CampaignTables>;

/**
 * Applies an operator's action to a campaign, as far as its phase allows (ACTIONS in domain/campaign.ts).
 * Repeated, an action changes nothing and succeeds. An impossible one is a conflict that names the phase. The
 * answer comes from the database; the workflows are signalled after the commit, and again at each repetition.
 * If an earlier attempt at the same call has done it (`note`), it is not done again, whatever became of the
 * campaign since.
 */
export async function changeCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  action: Action,
  note?: IdempotencyMark,
): Promise<WorkflowEffects> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    const noted = note && (await note.execute(tx)).rows[0];
    if (noted && noted.attempt > 1) return toldAgain(tx, campaign, action);
    if (action === 'resume') await requireApprovedDraft(tx, workspaceId, campaign);
    refuseIllegal(campaign, action);
    if (begins(campaign, action)) {
      await requireApproval(tx, workspaceId, campaign, action);
      await unarchive(tx, campaign);
    }
    if (hasSchedule(campaign)) return steer(tx, workspaceId, campaign, action);
    if (action === 'start') return startDraft(tx, workspaceId, campaign);
    if (action === 'cancel' && campaign.stage !== 'started') return withdraw(tx, workspaceId, campaign);
    return control(tx, workspaceId, campaign, action);
  });
}

/** A draft that waits for an approval says that it does, rather than that it has not started. */
export async function requireApprovedDraft(
  tx: Tx,
  workspaceId: string,
  campaign: CampaignRecord,
): Promise<void> {
  if (campaign.stage === 'draft') await requireApproval(tx, workspaceId, campaign, 'start');
}

/** Whether more is sent because of the action; a repetition is none. */
const begins = ({ phase }: CampaignRecord, action: Action): action is 'start' | 'resume' =>
  (action === 'start' || action === 'resume') && ACTIONS[action][phase] === 'do';

/** Takes a campaign that sends again out of the archive. */
export async function unarchive(
  tx: Tx,
  { id, archivedAt }: Pick<CampaignRecord, 'id' | 'archivedAt'>,
): Promise<void> {
  if (archivedAt) await tx.updateTable('campaigns').set({ archived_at: null }).where('id', '=', id).execute();
}

/** The attempt that did it may have died before the run was signalled; a second signal is harmless. */
export async function toldAgain(tx: Tx, campaign: CampaignRecord, action: Action): Promise<WorkflowEffects> {
  const again = launchAgain(campaign);
  if (action === 'start' || (campaign.stage !== 'started' && !hasSchedule(campaign))) return again;
  const told = (await liveRunsOf(tx, campaign.id)).map(addressOf);
  return { ...again, ...(told.length > 0 ? { controlChanged: told } : {}) };
}

/** An attempt may have died before it launched the run that it created; a repeated launch is harmless. */
export function launchAgain({ run, options }: CampaignRecord): WorkflowEffects {
  return {
    ...(options.schedule?.cron === undefined ? {} : { schedule: true }),
    ...(run && isLive(run.phase)
      ? { launch: { runId: run.id, launch: run.launches, startAt: futureStart(options) } }
      : {}),
  };
}

function refuseIllegal(campaign: CampaignRecord, action: Action): void {
  if (!isPossible(campaign, action)) throw illegal(campaign, action);
}

const isPossible = (campaign: CampaignRecord, action: Action): boolean =>
  ACTIONS[action][campaign.phase] !== undefined && !(endingOf(campaign) && action !== 'cancel');

/** How a run that has not closed yet is about to end. */
export function endingOf({ stage, run }: CampaignRecord): string | undefined {
  // The end of an occurrence does not end its campaign.
  if (stage === 'scheduled' || stage === 'held') return undefined;
  if (!run || !isLive(run.phase)) return undefined;
  return run.control === 'fail' ? 'about to fail' : undefined;
}

export function illegal(campaign: CampaignRecord, action: string): DomainError {
  const { id, phase } = campaign;
  const ending = endingOf(campaign);
  const now = ending ? `${phase} and ${ending}` : phase;
  const possible = (Object.keys(ACTIONS) as Action[]).filter(
    (one) => isPossible(campaign, one) && ACTIONS[one][phase] === 'do',
  );
  const instead = possible.length > 0 ? `; possible: ${possible.join(', ')}` : '';
  const message = `Campaign ${id} is ${now}: ${action} is not possible now${instead}`;
  return new DomainError('illegal_transition', message, { phase });
}

/** A draft starts when its schedule says; started once more, or if it has none, it starts now. */
export async function startDraft(
  tx: Tx,
  workspaceId: string,
  campaign: CampaignRecord,
): Promise<WorkflowEffects> {
  if (campaign.stage === 'started') return {};
  requireAudience(campaign.id, campaign, campaign.ownMembers);
  await requireLists(tx, workspaceId, campaign.contactListIds);
  const recurrence = recurrenceOf(campaign.options);
  if (recurrence) {
    if (nextIn(recurrence, databaseNow()) === undefined) throw isOver(campaign);
    return beginSchedule(tx, { id: campaign.id, workspaceId }, recurrence);
  }
  if (isPast(campaign.options.schedule?.endAt)) throw isOver(campaign);
  const startAt = campaign.stage === 'draft' ? futureStart(campaign.options) : undefined;
  if (campaign.run) await withdrawRun(tx, campaign.run.id);
  // Remove a start time that no longer holds, because a process that launches the run after a crash reads it
  // here. For a draft in recipients' local time it stays: the hour may be over only for the first recipients.
  const keepsHours = campaign.stage === 'draft' && campaign.options.schedule?.recipientLocal;
  if (!startAt && !keepsHours) {
    await sql`update campaigns set options = options #- '{schedule,startAt}' where id = ${campaign.id}`.execute(
      tx,
    );
  }
  const runId = await insertRun(
    tx,
    { id: campaign.id, workspaceId, startAt },
    startAt ? 'scheduled' : 'started',
  );
  return { launch: { runId, launch: 1, startAt } };
}

async function steer(
  tx: Tx,
  workspaceId: string,
  campaign: CampaignRecord,
  action: Action,
): Promise<WorkflowEffects> {
  if (action === 'start') await requireLists(tx, workspaceId, campaign.contactListIds);
  return steerSchedule(tx, workspaceId, campaign, action);
}

const isPast = (end: string | undefined): boolean => end !== undefined && Date.parse(end) <= databaseNow();

const isOver = ({ id, phase }: CampaignRecord) =>
  new DomainError('illegal_transition', `The schedule of campaign ${id} is over; edit it first`, { phase });

/**
 * Canceled before it began: the run that records this never sent anything. One that recurred before it was edited may have
 * occurrences that failed.
 */
async function withdraw(tx: Tx, workspaceId: string, campaign: CampaignRecord): Promise<WorkflowEffects> {
  const takenBack = await cancelFailedRuns(tx, campaign.id);
  const runId = campaign.run?.id ?? (await insertRun(tx, { id: campaign.id, workspaceId }, 'started'));
  await withdrawRun(tx, runId);
  await sql`update campaigns set stage = 'started', updated_at = now() where id = ${campaign.id}`.execute(tx);
  return takenBack.length > 0 ? { takenBack } : {};
}

const CONTROL: Record<Exclude<Action, 'start'>, { to: Control; from: Control[] }> = {
  pause: { to: 'pause', from: ['run'] },
  resume: { to: 'run', from: ['pause'] },
  cancel: { to: 'cancel', from: ['run', 'pause', 'fail'] },
};

async function control(
  tx: Tx,
  workspaceId: string,
  { id, run, stage, contactListIds }: CampaignRecord,
  action: Exclude<Action, 'start'>,
): Promise<WorkflowEffects> {
  if (action === 'resume' && run?.phase === 'failed') {
    if (run.recipients_deleted_at) {
      throw new DomainError(
        'recipients_deleted',
        `The recipients of campaign ${id} were deleted at ${run.recipients_deleted_at.toISOString()}, because it ended longer ago than records are kept; create another campaign`,
      );
    }
    // A run that failed before its audience was frozen reads its lists again; they may have been deleted
    // meanwhile.
    if (!(await frozenShards(tx, run.id))) await requireLists(tx, workspaceId, contactListIds);
    return { launch: await reopenRun(tx, run) };
  }
  const { to, from } = CONTROL[action];
  const told = run && isLive(run.phase) ? await controlLiveRuns(tx, id, to, from) : [];
  const takenBack = action === 'cancel' ? await cancelFailedRuns(tx, id) : [];
  return {
    // A run that waits for its start reads its control when it begins, and cannot be signalled before.
    ...(stage === 'started' && told.length > 0 ? { controlChanged: told } : {}),
    ...(takenBack.length > 0 ? { takenBack } : {}),
  };
}

/** When a campaign is to start, if that is not now. */
export function futureStart(options: HourOptions): Date | undefined {
  const startAt = runStart(options);
  return startAt !== undefined && startAt > databaseNow() ? new Date(startAt) : undefined;
}
