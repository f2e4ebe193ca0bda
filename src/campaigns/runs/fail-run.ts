import type { Kysely } from 'kysely';
import type { AbortBaseline } from '../../domain/abort-threshold';
import type { CampaignTables } from '../tables';

/**
 * Stops a run because of what concerns everybody (our account is refused, too many fail): pages stop
 * between chunks, and the run's workflow closes it as `failed`. `reason` is for its owner: a code of the
 * catalogue, a colon, and what to do. The first reason stands; a run that its owner paused or canceled
 * meanwhile is left as he wants it. So is one that has gone on since: what is found by work of an earlier `launch`
 * was found out before its owner saw to it.
 */
export async function failRun(
  db: Kysely<CampaignTables>,
  runId: string,
  reason: string,
  { launch, abortBaseline }: { launch?: number | undefined; abortBaseline?: AbortBaseline } = {},
): Promise<void> {
  let update = db
    .updateTable('runs')
    .set({
      control: 'fail',
      reason,
      ...(abortBaseline ? { abort_baseline: JSON.stringify(abortBaseline) } : {}),
    })
    .where('id', '=', runId)
    .where('control', '=', 'run')
    .where('phase', 'in', ['planning', 'running', 'finishing']);
  if (launch !== undefined) update = update.where('launches', '=', launch);
  await update.execute();
}
