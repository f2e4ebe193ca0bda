import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { recurrenceOf } from '../../domain/recurrence';
import type { Log } from '../../log';
import type { CampaignOptions } from '../model/campaign-record';
import { databaseNow } from '../model/database-now';
import type { CampaignSchedules, RunLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type Occurrence, takeOccurrence } from './recurring';

/** Temporal's schedule is expected to be late by no more than this. */
const LATE_SECONDS = 30;

/**
 * Makes Temporal's schedule of a campaign agree with the database: present, paused, or deleted. Repeated, it
 * changes nothing. It repeats until the database has not changed meanwhile. Of several processes that do this
 * at once, the one that writes last has therefore also read last.
 */
export async function keepSchedule(
  db: Kysely<CampaignTables>,
  schedules: CampaignSchedules,
  campaignId: string,
): Promise<void> {
  let asked = false;
  for (;;) {
    const row = await scheduleOf(db, campaignId);
    if (!row) {
      // The schedule was deleted while this process was writing it.
      if (asked) await schedules.removeSchedule(campaignId);
      return;
    }
    if (await follow(db, schedules, campaignId, row)) return;
    asked = true;
  }
}

/** Whether the database says that the campaign has a schedule. */
export async function isScheduled(db: Kysely<CampaignTables>, campaignId: string): Promise<boolean> {
  return (await scheduleOf(db, campaignId)) !== undefined;
}

type ScheduleRow = NonNullable<Awaited<ReturnType<typeof scheduleOf>>>;

function scheduleOf(db: Kysely<CampaignTables>, campaignId: string) {
  return db
    .selectFrom('campaign_schedules as s')
    .innerJoin('campaigns as c', 'c.id', 's.campaign_id')
    .select(['s.workspace_id', 's.next_at', 's.version', 'c.stage', 'c.options'])
    .where('s.campaign_id', '=', campaignId)
    .executeTakeFirst();
}

/** Returns false when the row has changed by now. */
async function follow(
  db: Kysely<CampaignTables>,
  schedules: CampaignSchedules,
  campaignId: string,
  row: ScheduleRow,
): Promise<boolean> {
  const options = row.options as CampaignOptions;
  const { cron } = options.schedule ?? {};
  const recurrence = recurrenceOf(options);
  if (
    cron === undefined ||
    !recurrence ||
    row.next_at === null ||
    !(row.stage === 'scheduled' || row.stage === 'held')
  ) {
    await schedules.removeSchedule(campaignId);
    const { numDeletedRows } = await db
      .deleteFrom('campaign_schedules')
      .where('campaign_id', '=', campaignId)
      .where('version', '=', row.version)
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }
  await schedules.keepSchedule({
    campaignId,
    workspaceId: row.workspace_id,
    cron,
    timezone: recurrence.zone,
    startAt: boundOf(recurrence.startAt),
    endAt: boundOf(recurrence.endAt),
    isPaused: row.stage === 'held',
  });
  const { numUpdatedRows } = await db
    .updateTable('campaign_schedules')
    .set({ kept: row.version, looked_at: sql<Date>`now()` })
    .where('campaign_id', '=', campaignId)
    .where('version', '=', row.version)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

const boundOf = (at: number) => (Number.isFinite(at) ? new Date(at) : undefined);

/**
 * One look, once a minute. It takes occurrences that were not taken in time. It compares Temporal's schedules
 * with the database: those that changed, and those not compared for a while, because a Temporal server may have
 * been restored empty. A failure does not delay the others.
 *
 * Lateness is judged by the database's clock. A machine whose clock is fast would otherwise take an occurrence
 * before its time, which Temporal has not started yet.
 */
export async function lookAtSchedules(
  db: Kysely<CampaignTables>,
  launcher: RunLauncher & CampaignSchedules,
  log: Log,
  at?: number,
): Promise<void> {
  const now = at ?? (await databaseNow(db));
  for (const occurrence of await overdueOccurrences(db, now)) {
    await attempt(log, occurrence, async () => {
      const run = await takeOccurrence(db, occurrence, now);
      if (run) await launcher.launch({ ...occurrence, ...run });
    });
  }
  for (const occurrence of await unkeptSchedules(db)) {
    await attempt(log, occurrence, () => keepSchedule(db, launcher, occurrence.campaignId));
  }
}

async function attempt(log: Log, { campaignId }: Occurrence, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn(
      { err: error, campaignId },
      'could not compare the schedule of a campaign with Temporal; trying again within minutes',
    );
  }
}

async function overdueOccurrences(db: Kysely<CampaignTables>, now: number): Promise<Occurrence[]> {
  const { rows } = await sql<Occurrence>`
    select s.campaign_id as "campaignId", s.workspace_id as "workspaceId"
    from campaign_schedules s join campaigns c on c.id = s.campaign_id
    where s.next_at < ${new Date(now).toISOString()}::timestamptz - make_interval(secs => ${LATE_SECONDS})
      and c.stage = 'scheduled'
    order by s.next_at limit ${LIMITS.schedulesPerLook}`.execute(db);
  return rows;
}

/** A schedule that was tried goes to the end of the queue, even if it fails. */
async function unkeptSchedules(db: Kysely<CampaignTables>): Promise<Occurrence[]> {
  const { rows } = await sql<Occurrence>`
    update campaign_schedules s set looked_at = now()
    from (
      select campaign_id from campaign_schedules
      where kept <> version or looked_at < now() - make_interval(secs => ${LIMITS.scheduleLookSeconds})
      order by looked_at limit ${LIMITS.schedulesPerLook}
    ) chosen
    where s.campaign_id = chosen.campaign_id
    returning s.campaign_id as "campaignId", s.workspace_id as "workspaceId"`.execute(db);
  return rows;
}
