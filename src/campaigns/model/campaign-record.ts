import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { CampaignBody } from '../../contracts/campaigns';
import type { Approval } from '../../domain/approval';
import { PHASES, type Phase, phaseOf, type Stage, type Status, statusOf } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { CampaignTables } from './tables';

/** What a campaign sends, to whom and how, as it is stored. */
export interface CampaignContent {
  name: string;
  channels: Channel[];
  settings: CampaignBody['settings'];
  contactListIds: string[];
  /** The campaign's own audience, if it has one (own-audience.ts). */
  ownListId?: string | undefined;
  options: CampaignOptions;
}

/** Every list that its audience is read from. */
export const audienceLists = ({ contactListIds, ownListId }: CampaignContent): string[] =>
  ownListId === undefined ? contactListIds : [...contactListIds, ownListId];

/** The options of api.md 7 that are stored with a campaign. */
export type CampaignOptions = Pick<
  CampaignBody,
  | 'params'
  | 'class'
  | 'schedule'
  | 'delivery'
  | 'voice'
  | 'strategy'
  | 'fallbackAfterSeconds'
  | 'exclude'
  | 'abort'
  | 'release'
>;

/** A campaign with its current run, if it has one. */
export interface CampaignRecord extends CampaignContent {
  id: string;
  stage: Stage;
  phase: Phase;
  /** Number of contacts in its own audience. */
  ownMembers: number;
  tags: string[];
  archivedAt: Date | null;
  createdBy: string | null;
  approval: Approval | null;
  createdAt: Date;
  updatedAt: Date;
  run: Selectable<CampaignTables['runs']> | undefined;
}

/** The content as columns of its row. */
export function columnsOf(content: CampaignContent) {
  return {
    name: content.name,
    channels: content.channels,
    settings: JSON.stringify(content.settings),
    contact_list_ids: content.contactListIds,
    options: JSON.stringify(content.options),
  };
}

/** A campaign as lists and answers to writes show it. */
export interface CampaignSummary {
  id: string;
  name: string;
  channel: Channel[];
  status: Status;
  phase: Phase;
  createdAt: Date;
  tags: string[];
  archived: boolean;
}

export function summaryOf(campaign: CampaignRecord): CampaignSummary {
  const { id, name, channels, phase, createdAt, tags, archivedAt } = campaign;
  const archived = archivedAt !== null;
  return { id, name, channel: channels, status: statusOf(phase), phase, createdAt, tags, archived };
}

export async function readCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<CampaignRecord> {
  const campaign = await findCampaign(db, workspaceId, campaignId);
  if (!campaign) throw unknownCampaign(campaignId);
  return campaign;
}

export async function findCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<CampaignRecord | undefined> {
  const campaign = await selectCampaign(db, workspaceId, campaignId).executeTakeFirst();
  if (!campaign) return undefined;
  const run = campaign.current_run && (await selectRun(db, campaign.current_run).executeTakeFirst());
  return toRecord(campaign, run || undefined);
}

/** Reads a campaign and its run, and locks both until the transaction ends. */
export async function lockCampaign(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<CampaignRecord> {
  const campaign = await selectCampaign(tx, workspaceId, campaignId).forUpdate().executeTakeFirst();
  if (!campaign) throw unknownCampaign(campaignId);
  const run =
    campaign.current_run && (await selectRun(tx, campaign.current_run).forUpdate().executeTakeFirst());
  return toRecord(campaign, run || undefined);
}

function selectCampaign(db: Kysely<CampaignTables>, workspaceId: string, campaignId: string) {
  return db
    .selectFrom('campaigns')
    .selectAll()
    .where('id', '=', campaignId)
    .where('workspace_id', '=', workspaceId);
}

function selectRun(db: Kysely<CampaignTables>, runId: string) {
  return db.selectFrom('runs').selectAll().where('id', '=', runId);
}

function toRecord(
  row: Selectable<CampaignTables['campaigns']>,
  run: Selectable<CampaignTables['runs']> | undefined,
): CampaignRecord {
  return {
    id: row.id,
    name: row.name,
    channels: row.channels,
    // Only this folder writes it, after the contract has validated it.
    settings: row.settings as CampaignContent['settings'],
    contactListIds: row.contact_list_ids,
    ownListId: row.own_list_id ?? undefined,
    ownMembers: row.own_members,
    options: row.options as CampaignOptions,
    stage: row.stage,
    phase: phaseOf(row.stage, run),
    tags: row.tags,
    archivedAt: row.archived_at,
    createdBy: row.created_by,
    approval: row.approval,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    run,
  };
}

function unknownCampaign(campaignId: string): DomainError {
  return notInWorkspace(`campaign ${campaignId}`, '/api/campaign');
}

/** The campaign's current run, or the named run if it belongs to the campaign. */
export async function findRun(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  runId: string | undefined,
): Promise<string | undefined> {
  const { run } = await readCampaign(db, workspaceId, campaignId);
  if (runId === undefined || runId === run?.id) return run?.id;
  const found = await db
    .selectFrom('runs')
    .select('id')
    .where('id', '=', runId)
    .where('campaign_id', '=', campaignId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (!found)
    throw new DomainError(
      'not_found',
      `Campaign ${campaignId} has no run ${runId}; GET /api/campaign/${campaignId}/runs lists its runs`,
    );
  return found.id;
}

/**
 * The same for lists of recipients, calls and skipped contacts. A run whose rows retention has begun to delete has none
 * from that moment on, because deleting a million rows takes minutes.
 */
export async function findRunWithRecipients(
  ...which: Parameters<typeof findRun>
): Promise<string | undefined> {
  const [db, workspaceId] = which;
  const runId = await findRun(...which);
  if (runId === undefined) return undefined;
  const run = await db
    .selectFrom('runs')
    .select('recipients_deleted_at')
    .where('id', '=', runId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return run?.recipients_deleted_at ? undefined : runId;
}

/**
 * `phaseOf` and `statusOf` of domain/campaign.ts as SQL over `campaigns c left join runs r`, because lists
 * filter and sort by them. A test compares the two.
 */
export const phaseExpression: RawBuilder<Phase> = sql<Phase>`(case
  when c.stage = 'draft' then 'draft'
  when c.stage = 'held' then 'paused'
  when c.stage = 'canceled' then case when r.phase in ('planning', 'running', 'finishing') and r.control <> 'cancel' then r.phase else 'canceled' end
  when r.id is null then 'scheduled'
  when r.control = 'pause' and r.phase in ('planning', 'running', 'finishing') then 'paused'
  when c.stage = 'scheduled' then 'scheduled'
  when r.control = 'cancel' and r.phase in ('planning', 'running', 'finishing') then 'canceled'
  else r.phase end)`;

export const statusExpression: RawBuilder<Status> = sql<Status>`(case ${phaseExpression} ${sql.join(
  PHASES.map((phase) => sql`when ${sql.lit(phase)} then ${sql.lit(statusOf(phase))}`),
  sql` `,
)} end)`;
