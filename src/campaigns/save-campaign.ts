import { type Kysely, sql, type Transaction } from 'kysely';
import type { CampaignBody } from '../contracts/campaigns';
import { isLive, type Stage } from '../domain/campaign';
import { DomainError } from '../domain/errors';
import { recurrenceOf } from '../domain/recurrence';
import { type Consequence, futureStart } from './campaign-actions';
import { requireLists } from './campaign-checks';
import { type CampaignContent, type CampaignRecord, columnsOf, lockCampaign } from './campaign-record';
import { controlLiveRuns, insertRun, liveRunsOf, withdrawRun } from './runs/run-rows';
import { beginSchedule, endSchedule, hasSchedule } from './schedules/recurring';
import type { CampaignTables } from './tables';

/** A campaign's rows as it is created and edited, with the run or the schedule by which it begins. */

type Saved = { id: string } & Consequence;

export async function insertCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { id, start, userId }: { id: string; start: boolean; userId: string | undefined },
  content: CampaignContent,
): Promise<Saved> {
  return db.transaction().execute(async (tx) => {
    await requireLists(tx, workspaceId, content.contactListIds);
    const inserted = await tx
      .insertInto('campaigns')
      .values({
        id,
        workspace_id: workspaceId,
        ...columnsOf(content),
        stage: 'draft',
        created_by: userId ?? null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    // Another attempt at the same call was quicker, and starts it.
    if (!inserted || !start) return { id };
    return { id, ...(await begin(tx, { id, workspaceId }, content)) };
  });
}

/** At its hour, or now; or, a recurring one, at its hours. `paused`: nothing is sent before it is resumed. */
async function begin(
  tx: Transaction<CampaignTables>,
  campaign: { id: string; workspaceId: string },
  { options }: CampaignContent,
  { paused = false }: { paused?: boolean } = {},
): Promise<Consequence> {
  const recurrence = recurrenceOf(options);
  if (recurrence) return beginSchedule(tx, campaign, recurrence, { held: paused });
  const startAt = futureStart(options);
  const runId = await insertRun(tx, campaign, stageFor(startAt));
  if (paused) await controlLiveRuns(tx, campaign.id, 'pause', ['run']);
  return { launch: { runId, launch: 1, startAt } };
}

/**
 * A draft stays one unless it is told to start, and what was scheduled stays so unless it is told not to. What its
 * owner has paused stays paused, whatever it is changed into: only `start` says that it may send. While an
 * occurrence goes on, what it sends cannot be replaced under it.
 */
export async function replaceCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { id, start }: { id: string; start: boolean | undefined },
  content: CampaignContent,
): Promise<Saved> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, id);
    const { stage } = campaign;
    const paused = campaign.phase === 'paused' && start !== true;
    const run = campaign.run && isLive(campaign.run.phase) ? campaign.run : undefined;
    const recurred = hasSchedule(campaign);
    const goesOn = recurred && (await liveRunsOf(tx, id)).length > 0;
    if (stage === 'started' || stage === 'canceled' || goesOn) throw alreadyStarted(campaign);
    await requireLists(tx, workspaceId, content.contactListIds);
    if (run) await withdrawRun(tx, run.id);
    await tx
      .updateTable('campaigns')
      .set({ ...columnsOf(content), stage: 'draft', current_run: null, updated_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .execute();
    if (recurred) await endSchedule(tx, id);
    if (!(start ?? stage !== 'draft')) return { id, schedule: recurred };
    const begun = await begin(tx, { id, workspaceId }, content, { paused });
    return { id, ...begun, schedule: recurred || begun.schedule === true };
  });
}

export const alreadyStarted = ({ id, phase }: Pick<CampaignRecord, 'id' | 'phase'>) =>
  new DomainError('campaign_started', `Campaign ${id} has started (${phase}) and can no longer be edited`, {
    phase,
  });

const stageFor = (startAt: Date | undefined): Stage => (startAt ? 'scheduled' : 'started');

export function contentOf(body: CampaignBody): CampaignContent {
  const { campaignId: _, name, settings, channel, contactListId, start: __, ...options } = body;
  return { name, channels: channel, settings, contactListIds: contactListId, options };
}
