import { type Kysely, sql } from 'kysely';
import { type AbortBaseline, type AbortRule, abortReason, abortTally } from '../../domain/abort-threshold';
import type { ReleaseOptions } from '../../domain/release';
import { closeGateAtOnce } from '../release/gates';
import { failRun } from '../runs/fail-run';
import { readCounts } from '../runs/ledger-counts';
import type { CampaignTables } from '../shared/tables';

/**
 * Stops a run in which too many recipients fail (domain/abort-threshold.ts), or closes a gate of its release
 * (release/gates.ts). The counts at that moment are kept in `runs.abort_baseline`.
 *
 * A run that is started again after its end has a higher `launches`. The first look at it moves the baseline to
 * the counts of that moment, and the threshold counts from there. Costs one query for a run without a
 * threshold, and a second one over a few rows per shard for a run with one.
 */
export async function abortIfTooManyFail(
  db: Kysely<CampaignTables>,
  runId: string,
  tellsMore: boolean,
): Promise<void> {
  const run = await db
    .selectFrom('runs')
    .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
    .select(['runs.control', 'runs.launches', 'runs.abort_baseline'])
    .select(['runs.workspace_id', sql<AbortRule | null>`campaigns.options -> 'abort'`.as('rule')])
    .select(sql<ReleaseOptions | null>`campaigns.options -> 'release'`.as('release'))
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (run?.control !== 'run') return;
  if (run.release?.gates?.length) {
    const options = { release: run.release };
    await closeGateAtOnce(db, { runId, workspaceId: run.workspace_id, options }, tellsMore);
  }
  if (!run.rule) return;
  const tally = abortTally(await readCounts(db, runId), tellsMore);
  const baseline = { ...tally, launch: run.launches };
  if (run.abort_baseline && run.abort_baseline.launch !== run.launches) {
    await moveBaseline(db, runId, baseline);
    return;
  }
  const reason = abortReason(run.rule, tally, run.abort_baseline);
  if (reason) await failRun(db, runId, reason, { launch: run.launches, abortBaseline: baseline });
}

async function moveBaseline(
  db: Kysely<CampaignTables>,
  runId: string,
  baseline: AbortBaseline,
): Promise<void> {
  await db
    .updateTable('runs')
    .set({ abort_baseline: JSON.stringify(baseline) })
    .where('id', '=', runId)
    .where('launches', '=', baseline.launch)
    .execute();
}
