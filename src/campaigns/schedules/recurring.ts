import { type Kysely, sql, type Transaction } from 'kysely';
import type { Action } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import {
  localTimeOf,
  misfire,
  newestIn,
  nextIn,
  type Recurrence,
  recurrenceOf,
} from '../../domain/recurrence';
import { ALL_ZONES_MS } from '../../domain/time-zones/recipient-hours';
import { type CampaignRecord, lockCampaign } from '../model/campaign-record';
import { databaseNow } from '../model/database-now';
import type { CampaignTables } from '../model/tables';
import {
  addressOf,
  cancelFailedRuns,
  controlLiveRuns,
  insertLeftOut,
  insertRun,
  type LiveRow,
  liveRunsOf,
  type RunAddress,
} from '../runs/run-rows';

/**
 * Recurring campaigns. The row in `campaign_schedules` says which occurrence is next. Taking it moves the row
 * on and creates the occurrence's run, in one transaction, so that each occurrence is taken once. Either
 * Temporal's schedule takes it at its time, or the reconciler does later (schedule-reconciler.ts).
 *
 * Of several missed occurrences only the newest is sent. An occurrence is left out while its predecessor still
 * runs, because no recipient may get the same message twice at once. Where each recipient has an occurrence at
 * their own hour, it runs for 26 hours in any case, and the next begins beside it (decision 20). The operator's
 * actions apply to all live runs. After the last occurrence, the campaign's phase is its run's, as for any
 * other campaign.
 */

type Tx = Transaction<CampaignTables>;
type Campaign = Pick<CampaignRecord, 'id' | 'stage' | 'run' | 'options'>;

/** What must be done once a change is committed. */
export interface ScheduleChange {
  launch?: RunAddress & { startAt?: Date | undefined };
  /** Has at least one run: without any, there is nothing to hold either. */
  controlChanged?: RunAddress[];
  /** Failed runs that are launched once more, to take back what they left at the service. */
  takenBack?: RunAddress[];
  /** Temporal's schedule must be updated. */
  schedule?: boolean;
}

/** Whether the operator's actions apply to a schedule, and not only to one run. */
export function hasSchedule({ stage, options }: Pick<Campaign, 'stage' | 'options'>): boolean {
  return options.schedule?.cron !== undefined && stage !== 'draft' && stage !== 'started';
}

/** Lets a campaign with a schedule wait for its first occurrence from now on. The transaction has locked its row. */
export async function beginSchedule(
  tx: Tx,
  { id, workspaceId }: { id: string; workspaceId: string },
  recurrence: Recurrence,
  { held = false, now }: { held?: boolean; now?: number } = {},
): Promise<ScheduleChange> {
  const next = nextIn(recurrence, now ?? (await databaseNow(tx)));
  await sql`
    insert into campaign_schedules as s (campaign_id, workspace_id, next_at)
    values (${id}, ${workspaceId}, ${next === undefined ? null : new Date(next).toISOString()}::timestamptz)
    on conflict (campaign_id) do update set next_at = excluded.next_at, version = s.version + 1`.execute(tx);
  await setStage(tx, id, held ? 'held' : 'scheduled');
  return { schedule: true };
}

/** Lets no further occurrence be taken. Has no effect on a campaign that never had a schedule. */
export async function endSchedule(tx: Tx, campaignId: string): Promise<void> {
  await sql`update campaign_schedules set next_at = null, version = version + 1 where campaign_id = ${campaignId}`.execute(
    tx,
  );
}

/** Applies an operator's action to a campaign with a schedule; both the schedule and a live run follow. */
export async function steerSchedule(
  tx: Tx,
  workspaceId: string,
  campaign: Campaign,
  action: Action,
): Promise<ScheduleChange> {
  const { id, stage } = campaign;
  if (action === 'start') {
    if ((await liveRunsOf(tx, id)).length > 0) return {};
    return { launch: { runId: await insertRun(tx, { id, workspaceId }, 'scheduled'), launch: 1 } };
  }
  let told: RunAddress[] | undefined;
  let takenBack: RunAddress[] = [];
  if (action === 'cancel') {
    await endSchedule(tx, id);
    if (stage !== 'canceled') await setStage(tx, id, 'canceled');
    told = await controlLiveRuns(tx, id, 'cancel', ['run', 'pause', 'fail']);
    takenBack = await cancelFailedRuns(tx, id);
  }
  if (action === 'pause' && stage === 'scheduled') {
    await setStage(tx, id, 'held');
    await sql`update campaign_schedules set version = version + 1 where campaign_id = ${id}`.execute(tx);
    told = await controlLiveRuns(tx, id, 'pause', ['run']);
  }
  if (action === 'resume' && stage === 'held') {
    told = await controlLiveRuns(tx, id, 'run', ['pause']);
    await resume(tx, workspaceId, campaign);
  }
  // An occurrence has paused itself at a gate, while the schedule continues.
  if (action === 'resume' && stage === 'scheduled') told = await controlLiveRuns(tx, id, 'run', ['pause']);
  // A repeated action signals again, because the first signal may have been lost.
  told ??= (await liveRunsOf(tx, id)).map(addressOf);
  return {
    schedule: true,
    ...(takenBack.length > 0 ? { takenBack } : {}),
    ...(told.length > 0 ? { controlChanged: told } : {}),
  };
}

/** Occurrences within the pause are left out, because the operator did not want them sent then. */
async function resume(tx: Tx, workspaceId: string, campaign: Campaign): Promise<void> {
  const recurrence = recurrenceOf(campaign.options);
  if (!recurrence) return;
  const now = await databaseNow(tx);
  await beginSchedule(tx, { id: campaign.id, workspaceId }, recurrence, { now });
  if (nextIn(recurrence, now) === undefined) await finish(tx, workspaceId, campaign);
}

export interface Occurrence {
  workspaceId: string;
  campaignId: string;
}

/**
 * Takes the due occurrence, if there is one. Returns the run to launch: the occurrence's, or a live one whose
 * launch may have been lost.
 */
export async function takeOccurrence(
  db: Kysely<CampaignTables>,
  { workspaceId, campaignId }: Occurrence,
  now: number,
): Promise<{ runId: string; launch: number } | undefined> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, campaignId);
    const going = await liveRunsOf(tx, campaignId);
    const live = going[0] && addressOf(going[0]);
    const recurrence = recurrenceOf(campaign.options);
    if (!recurrence || campaign.stage !== 'scheduled') return live;
    const due = await dueAt(tx, campaignId);
    if (due === undefined || due > now) return live;
    const newest = Math.max(due, newestIn(recurrence, now) ?? due);
    const next = nextIn(recurrence, now);
    await sql`
      update campaign_schedules set next_at = ${next === undefined ? null : new Date(next).toISOString()}::timestamptz,
        version = version + ${next === undefined ? 1 : 0}
      where campaign_id = ${campaignId}`.execute(tx);
    const occurrence = { scheduledFor: new Date(newest), localTime: localTimeOf(recurrence, newest) };
    const run = { id: campaignId, workspaceId, occurrence };
    const leftOut = overlap(recurrence, going, now) ?? misfire(recurrence, newest, now);
    if (leftOut === undefined) {
      const runId = await insertRun(tx, run, next === undefined ? 'started' : 'scheduled');
      return { runId, launch: 1 };
    }
    const leftOutRun = await insertLeftOut(tx, run, leftOut);
    if (next === undefined) await finish(tx, workspaceId, campaign, leftOutRun);
    return live;
  });
}

/** Why an occurrence does not begin beside the live ones; undefined when it does. */
function overlap({ recipientLocal }: Recurrence, going: readonly LiveRow[], now: number): string | undefined {
  // A live occurrence is no obstacle until the last time zone on earth has had its hour.
  const late = going.filter(
    ({ scheduledFor }) =>
      !recipientLocal || scheduledFor === null || scheduledFor.getTime() + ALL_ZONES_MS <= now,
  );
  if (late.length > 0) return 'overlap: the occurrence before it was still going on';
  // It would release what the service holds of the paused one, because the service holds by campaign.
  if (going.some(({ control }) => control === 'pause')) return 'overlap: the occurrence before it was paused';
  if (going.length < LIMITS.occurrencesAtOnce) return undefined;
  return `overlap: ${going.length} occurrences before it were still going on, which is as many as may`;
}

async function dueAt(tx: Tx, campaignId: string): Promise<number | undefined> {
  const row = await tx
    .selectFrom('campaign_schedules')
    .select('next_at')
    .where('campaign_id', '=', campaignId)
    .executeTakeFirst();
  return row?.next_at?.getTime();
}

/**
 * No further occurrence will come. The campaign takes the phase of its last run or, if none ever began, of an
 * occurrence that records why.
 */
async function finish(
  tx: Tx,
  workspaceId: string,
  { id, run }: Campaign,
  leftOutRun?: string,
): Promise<void> {
  const last =
    (await liveRunsOf(tx, id))[0]?.id ??
    run?.id ??
    leftOutRun ??
    (await insertLeftOut(tx, { id, workspaceId }, 'misfire: no occurrence was begun'));
  await tx
    .updateTable('campaigns')
    .set({ stage: 'started', current_run: last, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

async function setStage(tx: Tx, id: string, stage: 'scheduled' | 'held' | 'canceled'): Promise<void> {
  await tx
    .updateTable('campaigns')
    .set({ stage, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/**
 * When the next occurrence begins, and its local time if each recipient has their own. Null when there is none,
 * or while the schedule is paused.
 */
export async function nextRun(
  db: Kysely<CampaignTables>,
  campaign: Pick<CampaignRecord, 'id' | 'stage' | 'options'>,
): Promise<{ nextRunAt: Date | null; nextLocalTime: string | null }> {
  const recurrence = recurrenceOf(campaign.options);
  const none = { nextRunAt: null, nextLocalTime: null };
  if (campaign.stage !== 'scheduled' || !recurrence) return none;
  const row = await db
    .selectFrom('campaign_schedules')
    .select('next_at')
    .where('campaign_id', '=', campaign.id)
    .executeTakeFirst();
  if (!row?.next_at) return none;
  return { nextRunAt: row.next_at, nextLocalTime: localTimeOf(recurrence, row.next_at.getTime()) };
}
