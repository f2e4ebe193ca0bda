import { type Kysely, sql } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import { type Control, type Phase, phaseOf, type RunPhase } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import type { Skipped } from '../../domain/recipient';
import { readCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { reasonOf } from '../release/release-view';
import { type ChannelCounts, readCounts } from '../runs/ledger-counts';

/** A run as the API shows it (api.md 7). */
export interface RunView {
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
      startedAt: waits && row.id === campaign.run?.id ? null : row.started_at,
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
