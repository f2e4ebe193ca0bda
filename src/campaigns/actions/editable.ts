import type { Kysely } from 'kysely';
import { DomainError } from '../../domain/errors';
import type { CampaignRecord } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { liveRunsOf } from '../runs/run-rows';
import { hasSchedule } from '../schedules/recurring';

/**
 * Fails with `campaign_started` when the campaign's content and audience can no longer change. While an
 * occurrence runs, its content cannot be replaced.
 */
export async function requireEditable(db: Kysely<CampaignTables>, campaign: CampaignRecord): Promise<void> {
  const { id, stage } = campaign;
  const isRunning = hasSchedule(campaign) && (await liveRunsOf(db, id)).length > 0;
  if (stage === 'started' || stage === 'canceled' || isRunning) throw alreadyStarted(campaign);
}

const alreadyStarted = ({ id, phase }: Pick<CampaignRecord, 'id' | 'phase'>) =>
  new DomainError(
    'campaign_started',
    `Campaign ${id} has started (${phase}) and can no longer be edited; cancel it, or create another one`,
    { phase },
  );
