import { sql, type Transaction } from 'kysely';
import type { CampaignBody } from '../../contracts/campaigns';
import { isLive, type Stage } from '../../domain/campaign';
import { recurrenceOf } from '../../domain/recurrence';
import { type CampaignContent, type CampaignRecord, columnsOf } from '../model/campaign-record';
import type { IdempotencyMark } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { controlLiveRuns, insertRun, withdrawRun } from '../runs/run-rows';
import { beginSchedule, endSchedule, hasSchedule } from '../schedules/recurring';
import { futureStart, launchAgain, unarchive, type WorkflowEffects } from './campaign-actions';
import { requireAudience } from './campaign-checks';
import { requireEditable } from './editable';
import { dropOwnAudience, type OwnAudience } from './own-audience';

/**
 * Writes a campaign's rows when it is created or edited, with the run or the schedule by which it begins. The
 * caller's transaction has checked what the content names, and has locked its lists.
 */

type Saved = { id: string } & WorkflowEffects;

export async function insertCampaign(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  { id, start, userId, own }: { id: string; start: boolean; userId: string | undefined; own: OwnAudience },
  content: CampaignContent,
): Promise<Saved> {
  const inserted = await tx
    .insertInto('campaigns')
    .values({
      id,
      workspace_id: workspaceId,
      ...columnsOf(content),
      ...ownColumns(own),
      stage: 'draft',
      created_by: userId ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) {
    // Another attempt at the same call was quicker, and starts the campaign.
    if (own.listId !== null) await dropOwnAudience(tx, own.listId);
    return { id };
  }
  if (!start) return { id };
  requireAudience(id, content, own.members);
  return { id, ...(await begin(tx, { id, workspaceId }, content)) };
}

export const ownColumns = ({ listId, members }: OwnAudience) => ({
  own_list_id: listId,
  own_members: members,
});

/** Starts at `startAt`, now, or at each occurrence of `cron`. With `paused`, nothing is sent before it is resumed. */
async function begin(
  tx: Transaction<CampaignTables>,
  campaign: { id: string; workspaceId: string },
  { options }: CampaignContent,
  { paused = false }: { paused?: boolean } = {},
): Promise<WorkflowEffects> {
  const recurrence = recurrenceOf(options);
  if (recurrence) return beginSchedule(tx, campaign, recurrence, { held: paused });
  const startAt = futureStart(options);
  const runId = await insertRun(tx, { ...campaign, startAt }, stageFor(startAt));
  if (paused) await controlLiveRuns(tx, campaign.id, 'pause', ['run']);
  return { launch: { runId, launch: 1, startAt } };
}

/** Whether a campaign begins by being saved. `edited` is the campaign that is edited, if it is no new one. */
export function willBegin(
  edited: Pick<CampaignRecord, 'stage'> | undefined,
  { start, needsApproval }: Pick<Edit, 'start' | 'needsApproval'>,
): boolean {
  return (start ?? edited?.stage !== 'draft') && !needsApproval;
}

interface Edit {
  start: boolean | undefined;
  /** It stays, or becomes, a draft, whatever `start` says. */
  needsApproval: boolean;
  /** In place of the own audience that it has. */
  own: OwnAudience | undefined;
  /** Identifies an earlier attempt at the same call, which may have started the campaign. */
  note: IdempotencyMark | undefined;
}

/**
 * Replaces a campaign's content. A draft stays a draft unless `start` is asked for, and a scheduled campaign
 * stays scheduled unless the call says otherwise. A paused campaign stays paused after every change: only
 * `start` lets it send. The caller's transaction has locked the campaign.
 */
export async function replaceCampaign(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
  { start, needsApproval, own, note }: Edit,
  content: CampaignContent,
): Promise<Saved> {
  const { id } = campaign;
  const noted = note && (await note.execute(tx)).rows[0];
  if (noted && noted.attempt > 1) {
    if (own?.listId) await dropOwnAudience(tx, own.listId);
    return { id, ...launchAgain(campaign) };
  }
  await requireEditable(tx, campaign);
  const paused = campaign.phase === 'paused' && start !== true;
  const run = campaign.run && isLive(campaign.run.phase) ? campaign.run : undefined;
  const recurred = hasSchedule(campaign);
  const begins = willBegin(campaign, { start, needsApproval });
  if (begins) requireAudience(id, content, own ? own.members : campaign.ownMembers);
  if (run) await withdrawRun(tx, run.id);
  await tx
    .updateTable('campaigns')
    .set({ ...columnsOf(content), ...(own ? ownColumns(own) : {}), stage: 'draft', current_run: null })
    .set({ updated_at: sql<Date>`now()`, approval: null })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .execute();
  if (own && campaign.ownListId !== undefined) await dropOwnAudience(tx, campaign.ownListId);
  if (recurred) await endSchedule(tx, id);
  if (!begins) return { id, schedule: recurred };
  await unarchive(tx, campaign);
  const begun = await begin(tx, { id, workspaceId }, content, { paused });
  return { id, ...begun, schedule: recurred || begun.schedule === true };
}

const stageFor = (startAt: Date | undefined): Stage => (startAt ? 'scheduled' : 'started');

export function contentOf(body: CampaignBody): CampaignContent {
  const { campaignId, name, settings, channel, contactListId, start, recipients, skipInvalid, ...options } =
    body;
  return { name, channels: channel, settings, contactListIds: [...new Set(contactListId)], options };
}
