import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { type CampaignSummary, readCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { type Counts, readCounts } from '../runs/ledger-counts';
import { type RunSpeed, readSpeed, STANDING } from '../runs/sending-rate';
import { hasSchedule } from '../schedules/recurring';

/** A campaign that goes on, or waits for its hour. */
export interface LiveCampaign extends Pick<CampaignSummary, 'id' | 'name' | 'phase'>, RunSpeed {
  counts: Counts;
}

/**
 * Campaigns of every phase but `draft` and the ends, newest first. Those that run are found by their runs and the others by
 * their stage, each by an index that knows no campaign which has ended; counts are read as for a campaign's detail.
 */
export async function liveCampaigns(
  db: Kysely<CampaignTables>,
  workspaceId: string,
): Promise<LiveCampaign[]> {
  const { rows } = await sql<{ id: string }>`
    select c.id from campaigns c
    where c.workspace_id = ${workspaceId} and c.id in (
      select campaign_id from runs where workspace_id = ${workspaceId} and phase in ('planning', 'running', 'finishing')
      union
      select id from campaigns where workspace_id = ${workspaceId} and stage in ('scheduled', 'held'))
    order by c.created_at desc, c.id desc limit ${LIMITS.liveCampaignsListed}`.execute(db);
  const found = await Promise.all(rows.map(({ id }) => describeLive(db, workspaceId, id)));
  return found.filter((one) => one !== undefined);
}

const ENDED: readonly CampaignSummary['phase'][] = ['draft', 'completed', 'canceled', 'failed'];

async function describeLive(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<LiveCampaign | undefined> {
  const campaign = await readCampaign(db, workspaceId, campaignId);
  const { id, name, phase, run } = campaign;
  // Left out because it was canceled, although its run has yet to close.
  if (ENDED.includes(phase)) return undefined;
  if (!run) return { id, name, phase, counts: {}, ...STANDING };
  const counts = await readCounts(db, run.id);
  const phaseOfRun = hasSchedule(campaign) && phase === 'scheduled' ? run.phase : phase;
  return { id, name, phase, counts, ...(await readSpeed(db, run, phaseOfRun, counts)) };
}
