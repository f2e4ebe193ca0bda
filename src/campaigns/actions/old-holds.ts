import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { CleanupStep } from '../../storage/periodic-cleanup';
import { lockCampaign, phaseExpression } from '../model/campaign-record';
import type { HeldMessages } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';

/**
 * Ends the holds of campaigns that were canceled a day ago, and of failed ones whose recipients retention has deleted, so
 * that they can no longer be resumed. The service would otherwise keep them for ever. A process that was frozen may have
 * offered messages after the cancel. They wait behind the hold, and are canceled first. The day counts from the end of the
 * campaign's last occurrence, because the hold is one for all of them.
 *
 * The campaign is locked meanwhile, so that no occurrence begins whose messages would be canceled, and no pause whose hold
 * would be removed. Killed before the note, the next sweep does the same again. Each sweep makes a step of its own, which
 * goes through all such runs once: one whose service does not answer keeps no other waiting.
 */
export function endOldHolds(db: Kysely<CampaignTables>, held: HeldMessages, log: Log): CleanupStep {
  let after: Place | undefined;
  return async () => {
    const runs = await heldAfterEnd(db, after);
    for (const run of runs) {
      try {
        await endHold(db, held, run);
      } catch (error) {
        log.warn(
          { err: error, campaignId: run.campaignId },
          'could not end the hold of a canceled campaign at the service; trying again at the next sweep',
        );
      }
    }
    after = runs.at(-1);
    return runs.length;
  };
}

interface Place {
  runId: string;
  /** As the database writes it, since a Date would lose its microseconds. */
  finishedAt: string;
}

interface HeldRun extends Place {
  workspaceId: string;
  campaignId: string;
}

/** SQL: a run that goes on, or that an action can bring back. None brings back an occurrence of a canceled campaign. */
const mayGoOn = (run: string) =>
  sql<boolean>`${sql.ref(`${run}.phase`)} not in ('completed', 'canceled')
    and (${sql.ref(`${run}.phase`)} <> 'failed' or ${sql.ref(`${run}.recipients_deleted_at`)} is null and not exists (
      select from campaigns c left join runs r on r.id = c.current_run
      where c.id = ${sql.ref(`${run}.campaign_id`)} and ${phaseExpression} = 'canceled'))`;

async function heldAfterEnd(db: Kysely<CampaignTables>, after: Place | undefined): Promise<HeldRun[]> {
  const { rows } = await sql<HeldRun>`
    select r.id as "runId", r.workspace_id as "workspaceId", r.campaign_id as "campaignId",
      r.finished_at::text as "finishedAt"
    from runs r
    where r.phase in ('canceled', 'failed') and (r.hold_ended_at is null or r.hold_ended_at < r.finished_at)
      and r.finished_at < now() - make_interval(hours => ${LIMITS.canceledHoldHours})
      and (${after === undefined}::boolean
        or (r.finished_at, r.id) > (${after?.finishedAt ?? null}::timestamptz, ${after?.runId ?? null}::text))
      and not exists (select 1 from runs o where o.campaign_id = r.campaign_id and ${mayGoOn('o')})
      and not exists (select 1 from runs l where l.campaign_id = r.campaign_id and l.phase in ('canceled', 'failed')
        and (l.finished_at, l.id) > (r.finished_at, r.id))
    order by r.finished_at, r.id limit ${LIMITS.retentionRuns}`.execute(db);
  return rows;
}

async function endHold(
  db: Kysely<CampaignTables>,
  held: HeldMessages,
  { workspaceId, campaignId }: HeldRun,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockCampaign(tx, workspaceId, campaignId);
    const goesOn = await tx
      .selectFrom('runs')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('campaign_id', '=', campaignId)
      .where(mayGoOn('runs'))
      .limit(1)
      .executeTakeFirst();
    if (goesOn) return;
    if (!(await held.cancelWaiting(workspaceId, campaignId))) return;
    await held.release(workspaceId, campaignId);
    await tx
      .updateTable('runs')
      .set({ hold_ended_at: sql<Date>`now()` })
      .where('workspace_id', '=', workspaceId)
      .where('campaign_id', '=', campaignId)
      .where('phase', 'in', ['canceled', 'failed'])
      .execute();
  });
}
