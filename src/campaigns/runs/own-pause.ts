import { sql, type Transaction } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import type { CampaignTables } from '../model/tables';

/**
 * A run pauses or cancels itself, and says why; one that its owner has paused or canceled stays so, and one that has ended
 * stays as it ended. The look that is written down with it has the run's workflow put it into force at the service, also if
 * this process ends here.
 */
export async function pauseItself(
  tx: Transaction<CampaignTables>,
  runId: string,
  reason: OwnReason,
  control: 'pause' | 'cancel' = 'pause',
): Promise<void> {
  await tx
    .updateTable('runs')
    .set({ control, own_reason: JSON.stringify(reason) })
    .where('id', '=', runId)
    .where('control', '=', 'run')
    .where('phase', 'in', ['planning', 'running', 'finishing'])
    .execute();
  await sql`insert into run_looks (run_id, tries) values (${runId}, 1)`.execute(tx);
}

/**
 * Lets a campaign show the newest occurrence that stands paused, where a newer one has ended already: no occurrence begins
 * beside one that is paused, so that the campaign is. The transaction has locked the campaign.
 */
export async function showPaused(tx: Transaction<CampaignTables>, runId: string): Promise<void> {
  await sql`
    update campaigns c set current_run = paused.id, updated_at = now()
    from runs own join runs paused on paused.campaign_id = own.campaign_id
    where own.id = ${runId} and c.id = own.campaign_id and c.stage = 'scheduled' and c.current_run <> paused.id
      and paused.number = (
        select max(number) from runs where campaign_id = own.campaign_id and control = 'pause'
          and phase in ('planning', 'running', 'finishing'))
      and not exists (
        select from runs shown where shown.id = c.current_run and shown.phase in ('planning', 'running', 'finishing'))`.execute(
    tx,
  );
}
