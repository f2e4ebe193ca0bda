import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import { findCampaign } from '../../../src/campaigns/model/campaign-record';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { beginRun, moveRun } from '../../../src/campaigns/runs/runs';
import { nextRun, takeOccurrence } from '../../../src/campaigns/schedules/recurring';
import type { Action } from '../../../src/domain/campaign';
import { plantRun } from '../../support/audience';

/** A daily one at midnight UTC that has been started, and has had no run yet. */
export async function dailyCampaign(db: Kysely<CampaignTables>, schedule: object = {}) {
  const options = { schedule: { cron: '0 0 * * *', ...schedule } };
  const { campaignId, workspaceId, runId } = await plantRun(db, { contacts: 1, options });
  await sql`delete from runs where id = ${runId}`.execute(db);
  await sql`update campaigns set stage = 'draft', current_run = null where id = ${campaignId}`.execute(db);
  await sql`insert into contact_lists (id, workspace_id, name) select unnest(contact_list_ids), ${workspaceId}, 'L' from campaigns where id = ${campaignId}`.execute(
    db,
  );
  const act = (action: Action) => changeCampaign(db, workspaceId, campaignId, action);
  const campaign = async () => {
    const found = await findCampaign(db, workspaceId, campaignId);
    if (!found) throw new Error('it is gone');
    return found;
  };
  await act('start');
  const nextRunAt = async () => (await nextRun(db, await campaign())).nextRunAt?.getTime();
  const first = (await nextRunAt()) ?? Number.NaN;
  return {
    campaignId,
    workspaceId,
    first,
    act,
    campaign,
    next: nextRunAt,
    take: (now: number) => takeOccurrence(db, { workspaceId, campaignId }, now),
    runs: () =>
      db
        .selectFrom('runs')
        .select(['id', 'phase', 'control', 'reason', 'scheduled_for as due'])
        .where('campaign_id', '=', campaignId)
        .orderBy('number')
        .execute(),
  };
}

export async function finishRun(db: Kysely<CampaignTables>, runId: string): Promise<void> {
  await beginRun(db, runId);
  await moveRun(db, runId, 'completed');
}
