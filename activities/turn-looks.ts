import type { Kysely } from 'kysely';
import { openFallbackTurns } from '../src/campaigns/runs/fallback-turns';
import { gatherMs, type ShardRef } from '../src/campaigns/runs/run-end';
import type { RunPlan } from '../src/campaigns/runs/runs';
import type { CampaignTables } from '../src/campaigns/tables';
import { fallbackAfterMs } from '../src/domain/fallback';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stoppingRun } from './stop-run';

/**
 * Looks at whose turn it is in runs that go from channel to channel. A look reads every recipient that waits, so that
 * the next one comes later the longer it took; and it comes as seldom as retries are gathered, because what it finds
 * wakes shards.
 */
export class TurnLooks {
  /** By run: not before. What has passed is forgotten. */
  private readonly rests = new Map<string, number>();

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly gatewayFor: ActivityDeps['gatewayFor'],
  ) {}

  /** Shards to be woken or started now, and when a turn comes by time alone. */
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
