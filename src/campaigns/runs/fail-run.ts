import type { Kysely } from 'kysely';
import type { AbortBaseline } from '../../domain/abort-threshold';
import type { CampaignTables } from '../model/tables';

/**
 * Stops a run for a reason that concerns all recipients (our account is refused, too many fail). Pages stop
 * between two chunks, and the run's workflow closes it as `failed`. `reason` is for the operator: a code of the
 * catalogue, a colon, and what to do. The first reason stays.
 *
 * A run that its operator has paused or canceled meanwhile is left unchanged. So is a run that was started
 * again: what work of an earlier `launch` finds is older than the operator's decision.
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
