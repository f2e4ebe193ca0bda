import { type Kysely, sql } from 'kysely';
import { type AbortRule, type AbortTally, abortReason, abortTally } from '../domain/abort-threshold';
import { failRun } from './fail-run';
import { readCounts } from './ledger-counts';
import type { CampaignTables } from './tables';

/**
 * Stops a run of which too many recipients fail (domain/abort-threshold.ts). What had ended by then is kept in
 * `runs.abort_baseline`, and brought up to date as long as the run stands still and news comes in: once its owner
 * has resumed it, `control` is `run` again and the threshold counts from that baseline. Costs a query that
 * finds no rule, or two over a few rows per shard.
 */
export async function abortIfTooManyFail(
  db: Kysely<CampaignTables>,
  runId: string,
  tellsMore: boolean,
): Promise<void> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
    .select(['runs.control', 'runs.abort_baseline'])
    .select(sql<AbortRule | null>`campaigns.options -> 'abort'`.as('rule'))
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (!run?.rule || run.control === 'cancel') return;
  const tally = abortTally(await readCounts(db, runId), tellsMore);
  if (run.control === 'run') {
    const reason = abortReason(run.rule, tally, run.abort_baseline);
    if (reason) await failRun(db, runId, reason, tally);
  } else if (run.control === 'fail' && run.abort_baseline) {
    await moveBaseline(db, runId, tally);
  }
}

async function moveBaseline(db: Kysely<CampaignTables>, runId: string, tally: AbortTally): Promise<void> {
  await db
    .updateTable('runs')
    .set({ abort_baseline: JSON.stringify(tally) })
    .where('id', '=', runId)
    .where('control', '=', 'fail')
    .execute();
}
