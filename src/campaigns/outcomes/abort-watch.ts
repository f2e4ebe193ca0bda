import { type Kysely, sql } from 'kysely';
import {
  type AbortBaseline,
  type AbortRule,
  abortReason,
  abortTally,
  loweredTo,
} from '../../domain/abort-threshold';
import type { CampaignTables } from '../model/tables';
import { closeGateAtOnce } from '../release/gates';
import { failRun } from '../runs/fail-run';
import { readCounts } from '../runs/ledger-counts';
import type { RunOptions } from '../runs/runs';

/** A process looks at a run at most this often, because the counts read a few rows per shard. */
const LOOK_MS = 1_000;

/** Whether a run's outcomes may stop it: by `abort`, or by a gate of its release. */
export const isWatched = ({ abort, release }: RunOptions): boolean =>
  abort !== undefined || release?.gates !== undefined;

/**
 * Checks runs after something was recorded in them. A check that would come too soon after the last one is
 * remembered, and `settle` makes it later, so that the last results of a run are checked too.
 */
export class AbortWatch {
  private readonly looked = new Map<string, number>();
  private readonly owed = new Map<string, boolean>();

  constructor(private readonly db: Kysely<CampaignTables>) {}

  async note(runId: string, tellsMore: boolean): Promise<void> {
    this.owed.set(runId, tellsMore);
    await this.settle();
  }

  /** Makes the remembered checks that are allowed by now. */
  async settle(): Promise<void> {
    const now = Date.now();
    for (const [runId, tellsMore] of this.owed) {
      if (now - (this.looked.get(runId) ?? 0) < LOOK_MS) continue;
      this.owed.delete(runId);
      this.looked.set(runId, now);
      await abortIfTooManyFail(this.db, runId, tellsMore);
    }
    for (const [runId, at] of this.looked) if (now - at >= LOOK_MS) this.looked.delete(runId);
  }

  /** Checks a run at once, because the caller will not come back for it. */
  async last(runId: string, tellsMore: boolean): Promise<void> {
    this.looked.delete(runId);
    await this.note(runId, tellsMore);
  }
}

/**
 * Stops a run in which too many recipients fail (domain/abort-threshold.ts), or closes a gate of its release
 * (release/gates.ts). The counts at that moment are kept in `runs.abort_baseline`.
 *
 * A run that is started again after its end has a higher `launches`. The first look at it moves the baseline to
 * the counts of that moment, and the threshold counts from there. It is lowered where counts fall below it, because
 * `retry-failed` puts many recipients back in several steps, and a look may come between two of them. Costs one query for a run without a
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
    .select(sql<Pick<RunOptions, 'release' | 'schedule'>>`campaigns.options`.as('options'))
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (run?.control !== 'run') return;
  const { workspace_id: workspaceId, options } = run;
  if (options.release?.gates?.length) await closeGateAtOnce(db, { runId, workspaceId, options }, tellsMore);
  if (!run.rule) return;
  const tally = abortTally(await readCounts(db, runId), tellsMore);
  const baseline = { ...tally, launch: run.launches };
  if (run.abort_baseline && run.abort_baseline.launch !== run.launches) {
    await moveBaseline(db, runId, baseline);
    return;
  }
  const lowered = run.abort_baseline && loweredTo(tally, run.abort_baseline);
  if (lowered) await moveBaseline(db, runId, lowered);
  const reason = abortReason(run.rule, tally, lowered ?? run.abort_baseline);
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
