import { Context } from '@temporalio/activity';
import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { hasLaterStage, isStageFresh } from '../src/campaigns/release/later-stages';
import { openFallbackTurns } from '../src/campaigns/runs/fallback-turns';
import { hasUnsent, readCounts, unsettled } from '../src/campaigns/runs/ledger-counts';
import { firstDue } from '../src/campaigns/runs/next-due';
import { dueShards, gatherMs, type ShardRef } from '../src/campaigns/runs/run-end';
import { loadRun, moveRun, type RunPlan, readControl } from '../src/campaigns/runs/runs';
import { databaseNow } from '../src/domain/database-clock';
import { fallbackAfterMs } from '../src/domain/fallback';
import { LIMITS } from '../src/domain/limits';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import { applyMissedControl } from './apply-control';
import type { ActivityDeps } from './deps';
import { closedChannels, lookAtStages } from './stage-checks';
import { stoppingRun } from './stop-run';

export type { ShardRef };

export interface LookInput {
  runId: string;
  launch?: number;
}

/** Nothing to do now. If `waitMs` is set, there may be work after it even if no event arrives. */
export interface Waiting {
  kind: 'wait';
  waitMs?: number;
}

/** These shards have recipients to send to now; others become due after `waitMs` at the earliest. */
export interface Due {
  kind: 'due';
  shards: ShardRef[];
  waitMs?: number;
}

/** Answer of the activities of an earlier release after they had waited for an hour. */
interface Again {
  kind: 'again';
  waitMs?: undefined;
}

/** `failing`: nothing more is sent, because the run fails or is canceled, and its shards are to end. */
export type SendingLook = Waiting | Due | Again | { kind: 'failing' };
export type SettlingLook = Waiting | Due | Again | { kind: 'settled' | 'canceled' | 'failed' };

/** A shard that is about to wake by itself has done so within this time. */
const OVERDUE_MS = 3_000;

/**
 * What a run's workflow calls when it wakes. It looks once, and sleeps again until it is woken
 * (src/campaigns/watch) or until a moment that the look returns. Nothing here waits.
 */
export function lookActivities(deps: ActivityDeps) {
  const { lookWhileSending, lookWhileSettling, watchRun, awaitSettled } = new RunChecks(deps);
  return { lookWhileSending, lookWhileSettling, watchRun, awaitSettled };
}

class RunChecks {
  private readonly turnLooks: TurnLooks;

  constructor(private readonly deps: ActivityDeps) {
    this.turnLooks = new TurnLooks(deps.db, deps.gatewayFor);
  }

  /**
   * Called while shards run or sleep. Returns whether the run must stop, of which its shards may not know, and
   * which shards have overdue retries because they sleep for longer or have ended.
   */
  readonly lookWhileSending = async ({ runId, launch }: LookInput): Promise<SendingLook> => {
    const control = await readControl(this.deps.db, runId, launch);
    if (control === 'fail') return { kind: 'failing' };
    const isMissed = await applyMissedControl(this.deps, runId);
    // By a gate, or by a process that was killed before it signalled the run: no other signal reaches shards that sleep.
    if (control === 'cancel') return { kind: 'failing' };
    if (control !== 'run') return { kind: 'wait' };
    const run = await loadRun(this.deps.db, runId);
    const stages = await lookAtStages(this.deps, run, launch);
    const turns = await this.turnLooks.look(run);
    // An attempt that was killed may have opened a stage and lost its answer with the shards that have it; and a
    // shard that was woken may have been about to end.
    const isFresh = run.options.release !== undefined && (await isStageFresh(this.deps.db, runId));
    const wait = waiting(stages.waitMs, turns.waitMs, isFresh ? OVERDUE_MS : undefined);
    const begun = [...stages.shards, ...turns.shards];
    const closed = closedChannels(run);
    // A resume that was not signalled: shards that sleep since the pause would look for it half an hour later. An
    // attempt that was killed may have applied it, and lost its answer.
    if (isMissed || Context.current().info.attempt > 1)
      begun.push(...(await dueShards(this.deps.db, runId, { closed })));
    if (begun.length) return { ...wait, kind: 'due', shards: distinct(begun) };
    const overdueMs = isFresh
      ? 0
      : Math.min(LIMITS.gatherMaxMs, OVERDUE_MS + (await gatherMs(this.deps.db, runId)));
    const shards = await dueShards(this.deps.db, runId, { overdueMs, closed });
    return shards.length ? { ...wait, kind: 'due', shards } : wait;
  };

  /**
   * Called when all shards have ended. Returns that every recipient is at least `sent` and every call has
   * ended for good, or which shards have due retries. `sinceMs` is how long the run has been settling;
   * retries are gathered for a while.
   */
  readonly lookWhileSettling = async ({
    runId,
    launch,
    sinceMs,
  }: LookInput & { sinceMs: number }): Promise<SettlingLook> => {
    const control = await readControl(this.deps.db, runId, launch);
    if (control === 'cancel') return { kind: 'canceled' };
    if (control === 'fail') return { kind: 'failed' };
    await applyMissedControl(this.deps, runId);
    const run = await loadRun(this.deps.db, runId);
    const tellsMore = (await this.deps.gatewayFor(run.workspaceId).capabilities()).has('events');
    const stages = control === 'run' ? await lookAtStages(this.deps, run, launch) : undefined;
    const turns = control === 'run' ? await this.turnLooks.look(run) : undefined;
    const counts = await readCounts(this.deps.db, runId);
    if (unsettled(counts, tellsMore) === 0) return { kind: 'settled' };
    if (!hasUnsent(counts, tellsMore) && !(await hasLaterStage(this.deps.db, runId))) {
      await moveRun(this.deps.db, runId, 'finishing');
    }
    if (control !== 'run') return { kind: 'wait' };
    const gatherLeft = (await isStageFresh(this.deps.db, runId))
      ? 0
      : (await gatherMs(this.deps.db, runId)) - sinceMs;
    const shards = await dueShards(this.deps.db, runId, { closed: closedChannels(run) });
    if (shards.length === 0) return waiting(stages?.waitMs, turns?.waitMs, await untilDue(this.deps.db, run));
    if (gatherLeft > 0) return waiting(gatherLeft);
    await moveRun(this.deps.db, runId, 'running');
    return { kind: 'due', shards };
  };

  /** For executions of an earlier release: the next round of their workflow uses the looks above. */
  readonly watchRun = async (_input: LookInput): Promise<SendingLook> => {
    return { kind: 'again' };
  };

  /** For executions of an earlier release, as above. */
  readonly awaitSettled = async (_input: LookInput): Promise<SettlingLook> => {
    return { kind: 'again' };
  };
}

/** Time until the first waiting recipient's retry is due and their channel is open. */
async function untilDue(db: Kysely<CampaignTables>, run: RunPlan): Promise<number | undefined> {
  const now = databaseNow();
  let soonest: number | undefined;
  for (const { channel, at } of await firstDue(db, run.runId)) {
    const open = openHours(run.options, channel).nextForAll(Math.max(now, at.getTime()));
    const waitMs = Math.max(0, open - now);
    soonest = Math.min(soonest ?? waitMs, waitMs);
  }
  return soonest;
}

/** Removes duplicates. */
const distinct = (shards: readonly ShardRef[]): ShardRef[] => [
  ...new Map(shards.map((shard) => [`${shard.channel} ${shard.shard}`, shard])).values(),
];

function waiting(...waits: (number | undefined)[]): Waiting {
  const known = waits.filter((wait) => wait !== undefined);
  if (known.length === 0) return { kind: 'wait' };
  return { kind: 'wait', waitMs: Math.max(LIMITS.lookMinMs, Math.ceil(Math.min(...known))) };
}

/**
 * Finds recipients whose next channel is due, in runs that go from channel to channel. A look reads every
 * waiting recipient, so the next look comes later the longer this one took. Looks are also as rare as gathered
 * retries, because what they find wakes shards.
 */
class TurnLooks {
  /** By run: the earliest time of its next look. Entries in the past are deleted. */
  private readonly rests = new Map<string, number>();

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly gatewayFor: ActivityDeps['gatewayFor'],
  ) {}

  /** Returns shards to wake or start now, and the time until the next channel is due by time alone. */
  async look(run: RunPlan): Promise<{ shards: ShardRef[]; waitMs?: number }> {
    if (run.options.strategy !== 'fallback') return { shards: [] };
    const startedAt = Date.now();
    for (const [runId, restsUntil] of this.rests) if (restsUntil <= startedAt) this.rests.delete(runId);
    const restsUntil = this.rests.get(run.runId);
    if (restsUntil !== undefined) return { shards: [], waitMs: restsUntil - startedAt };
    const given = await stoppingRun(this.db, run, async () =>
      openFallbackTurns(this.db, {
        runId: run.runId,
        channels: run.channels,
        afterMs: fallbackAfterMs(run.options),
        tellsMore: (await this.gatewayFor(run.workspaceId).capabilities()).has('events'),
      }),
    );
    if ('kind' in given) return { shards: [] };
    const now = Date.now();
    const restMs = Math.max(
      LIMITS.turnLookMs,
      (now - startedAt) / LIMITS.turnLookShare,
      await gatherMs(this.db, run.runId),
    );
    this.rests.set(run.runId, now + restMs);
    if (given.nextAtMs === undefined) return { shards: given.shards };
    return { shards: given.shards, waitMs: Math.max(restMs, given.nextAtMs - databaseNow()) };
  }
}
