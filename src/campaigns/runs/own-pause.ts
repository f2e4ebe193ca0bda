import { sql, type Transaction } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import type { CampaignTables } from '../model/tables';

/**
 * A run pauses or cancels itself, and says why; one that its owner has paused or canceled stays so. The look that is
 * written down with it has the run's workflow put it into force at the service, also if this process ends here.
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
    .execute();
  await sql`insert into run_looks (run_id, tries) values (${runId}, 1)`.execute(tx);
}
