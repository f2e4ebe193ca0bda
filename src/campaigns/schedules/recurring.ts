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
import { type CampaignRecord, lockCampaign } from '../campaign-record';
import { databaseNow } from '../database-now';
import {
  addressOf,
  controlLiveRuns,
  insertLeftOut,
  insertRun,
  type LiveRow,
  liveRunsOf,
  type RunAddress,
} from '../runs/run-rows';
import type { CampaignTables } from '../tables';

/**
 * Recurring campaigns. The row in `campaign_schedules` says which occurrence is next; taking it moves the row on
 * and makes the occurrence's run, in one transaction, so that each is taken once whoever comes: Temporal's
 * schedule at its hour, or the look that finds what nobody has taken (schedule-reconciler.ts).
 *
 * Of several occurrences that were missed only the newest is still sent. One whose predecessor is still going
 * on is left out: nobody is to get the same thing twice at once. Where each recipient has an occurrence at their own
 * hour, one goes on for 26 hours in any case, and the next begins beside it (decision 20); what the owner asks is
 * asked of all that go on. The last occurrence takes the campaign along: its phase is from then on the run's, like
 * that of any other.
 */

type Tx = Transaction<CampaignTables>;
type Campaign = Pick<CampaignRecord, 'id' | 'stage' | 'run' | 'options'>;

/** What has to be done once a change is committed. */
export interface ScheduleChange {
  launch?: RunAddress & { startAt?: Date | undefined };
  /** Of one run at least: without any, there is nothing to hold either. */
  controlChanged?: RunAddress[];
  /** Temporal's schedule has to follow. */
  schedule?: boolean;
}

/** Whether it is a schedule that the campaign's owner steers, beside the run of an occurrence. */
export function hasSchedule({ stage, options }: Pick<Campaign, 'stage' | 'options'>): boolean {
  return options.schedule?.cron !== undefined && stage !== 'draft' && stage !== 'started';
}

/** A campaign with a schedule, its row kept by the transaction, waits for its first occurrence from now on. */
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

/** Nothing more is taken; harmless for a campaign that never had a schedule. */
export async function endSchedule(tx: Tx, campaignId: string): Promise<void> {
  await sql`update campaign_schedules set next_at = null, version = version + 1 where campaign_id = ${campaignId}`.execute(
    tx,
  );
}

/** What the owner asks of a campaign with a schedule; both the schedule and a live run follow. */
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
  if (action === 'cancel') {
    await endSchedule(tx, id);
    if (stage !== 'canceled') await setStage(tx, id, 'canceled');
    told = await controlLiveRuns(tx, id, 'cancel', ['run', 'pause', 'fail']);
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
  // An occurrence has paused itself at a gate, and the schedule goes on.
  if (action === 'resume' && stage === 'scheduled') told = await controlLiveRuns(tx, id, 'run', ['pause']);
  // Also what is repeated: the word of the first time may have been lost.
  told ??= (await liveRunsOf(tx, id)).map(addressOf);
  return { schedule: true, ...(told.length > 0 ? { controlChanged: told } : {}) };
}

/** What fell into the pause is left out: whoever paused a schedule did not want it then. */
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
 * Takes what is due, if anything is, and answers the run that is to be launched: the occurrence's, or one that
 * goes on already, whose launch may have been lost.
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

/** Why an occurrence does not begin beside those that go on; undefined when it does. */
function overlap({ recipientLocal }: Recurrence, going: readonly LiveRow[], now: number): string | undefined {
  // Until the last clocks on earth have shown its hour, one goes on because it has to.
  const late = going.filter(
    ({ scheduledFor }) =>
      !recipientLocal || scheduledFor === null || scheduledFor.getTime() + ALL_ZONES_MS <= now,
  );
  if (late.length > 0) return 'overlap: the occurrence before it was still going on';
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

/** No occurrence is to come: the campaign ends as its last run does, or as what says that there was none. */
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

/** When the next occurrence begins, and the hour of everybody's own if it has one; null when none does, or while held. */
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
