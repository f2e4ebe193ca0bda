import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { openFallbackTurns } from '../src/campaigns/runs/fallback-turns';
import { gatherMs, type ShardRef } from '../src/campaigns/runs/run-end';
import type { RunPlan } from '../src/campaigns/runs/runs';
import { fallbackAfterMs } from '../src/domain/fallback';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stoppingRun } from './stop-run';

/**
 * Finds recipients whose next channel is due, in runs that go from channel to channel. A look reads every
 * waiting recipient, so the next look comes later the longer this one took. Looks are also as rare as gathered
 * retries, because what they find wakes shards.
 */
export class TurnLooks {
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
    return { shards: given.shards, waitMs: Math.max(restMs, given.nextAtMs - now) };
  }
}
