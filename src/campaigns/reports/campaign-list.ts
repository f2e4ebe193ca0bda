import { type Kysely, sql } from 'kysely';
import type { CampaignListQuery } from '../../contracts/campaigns';
import type { OwnReason } from '../../domain/approval';
import { type Control, type Phase, phaseOf, type RunPhase } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import type { Skipped } from '../../domain/recipient';
import {
  type CampaignSummary,
  phaseExpression,
  readCampaign,
  statusExpression,
} from '../model/campaign-record';
import { likePattern } from '../model/like-pattern';
import type { CampaignTables } from '../model/tables';
import { reasonOf } from '../release/release-view';
import { type ChannelCounts, readCounts } from '../runs/ledger-counts';
import { beganAt } from '../runs/run-rows';

/** One page of a workspace's campaigns (messaging-service.md, List campaigns); equal values are ordered by id. */
export async function listCampaigns(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  query: CampaignListQuery,
): Promise<{ campaigns: CampaignSummary[]; total: number }> {
  const matching = sql`
    from campaigns c left join runs r on r.id = c.current_run
    where c.workspace_id = ${workspaceId}
      and ${query.channel === 'all' ? sql`true` : sql`${query.channel} = any(c.channels)`}
      and ${query.search ? sql`c.name ilike ${likePattern(query.search)}` : sql`true`}
      and ${query.status ? sql`${statusExpression} = ${query.status}` : sql`true`}
      and ${query.tag ? sql`${query.tag} = any(c.tags)` : sql`true`}
      and c.archived_at is ${query.archived ? sql`not null` : sql`null`}
      and ${query.dateFrom ? sql`c.created_at >= ${query.dateFrom}::date` : sql`true`}
      and ${query.dateTo ? sql`c.created_at < ${query.dateTo}::date + 1` : sql`true`}
      and ${query.createdFrom ? sql`c.created_at >= ${query.createdFrom}::timestamptz` : sql`true`}
      and ${query.createdBefore ? sql`c.created_at < ${query.createdBefore}::timestamptz` : sql`true`}`;
  const direction = sql.raw(query.direction ?? (query.column === 'name' ? 'asc' : 'desc'));
  const column = { name: sql`lower(c.name)`, createdAt: sql`c.created_at`, status: statusExpression }[
    query.column ?? 'createdAt'
  ];
  const { rows } = await sql<CampaignSummary>`
    select c.id, c.name, c.channels as channel, ${statusExpression} as status, ${phaseExpression} as phase,
      c.created_at as "createdAt", c.tags, c.archived_at is not null as archived
    ${matching}
    order by ${column} ${direction}, c.id ${direction}
    limit ${query.limit} offset ${(query.page - 1) * query.limit}`.execute(db);
  const counted = await sql<{ total: number }>`select count(*)::int as total ${matching}`.execute(db);
  return { campaigns: rows, total: counted.rows[0]?.total ?? 0 };
}

/** A run as the API shows it (api.md 7). */
interface RunView {
  id: string;
  number: number;
  phase: Phase;
  scheduledFor: Date | null;
  /** The local time at which each recipient is due; null when all are due as the run begins. */
  localTime: string | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** When its recipients were deleted, because it ended longer ago than records are kept. */
  recipientsDeletedAt: Date | null;
  reason: string | OwnReason | null;
  counts: Partial<Record<Channel, ChannelCounts>>;
  skipped: Partial<Record<Channel, Skipped>>;
  workflowId: string;
}

/** A page of a campaign's runs, the newest first. Each costs a read of its counters, whatever its audience. */
export async function listRuns(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<{ runs: RunView[]; next: number | undefined }> {
  const campaign = await readCampaign(db, workspaceId, campaignId);
  const { rows } = await sql<{
    id: string;
    number: number;
    phase: RunPhase;
    control: Control;
    scheduled_for: Date | null;
    local_time: string | null;
    started_at: Date;
    finished_at: Date | null;
    recipients_deleted_at: Date | null;
    reason: string | null;
    own_reason: OwnReason | null;
    skipped: RunView['skipped'];
    workflow_id: string;
  }>`
    select * from runs
    where workspace_id = ${workspaceId} and campaign_id = ${campaignId} and ${before === undefined ? sql`true` : sql`number < ${before}`}
    order by number desc limit ${limit + 1}`.execute(db);
  const runs: RunView[] = [];
  for (const row of rows.slice(0, limit)) {
    const counts = await readCounts(db, row.id);
    const waits = campaign.options.schedule?.cron === undefined && campaign.stage === 'scheduled';
    const phase = phaseOf(waits && row.id === campaign.run?.id ? 'scheduled' : 'started', row);
    runs.push({
      id: row.id,
      number: row.number,
      phase,
      scheduledFor: row.scheduled_for,
      localTime: row.local_time,
      startedAt: waits && row.id === campaign.run?.id ? null : beganAt(row),
      finishedAt: row.finished_at,
      recipientsDeletedAt: row.recipients_deleted_at,
      reason: reasonOf(row, phase),
      counts,
      skipped: row.skipped,
      workflowId: row.workflow_id,
    });
  }
  return { runs, next: rows.length > limit ? runs.at(-1)?.number : undefined };
}
