import type { Kysely } from 'kysely';
import { gatherMs, type ShardRef } from '../src/campaigns/runs/run-end';
import type { RunPlan } from '../src/campaigns/runs/runs';
import { giveTurns } from '../src/campaigns/runs/turns';
import type { CampaignTables } from '../src/campaigns/tables';
import { fallbackAfterMs } from '../src/domain/fallback';
import { LIMITS } from '../src/domain/limits';
import type { Gateway } from '../src/gateway/gateway';
import { stoppingRun } from './stop-run';

/**
 * Looks at whose turn it is in a run that goes from channel to channel. A look reads everybody who waits, so
 * that it comes the more seldom the longer it takes; and it comes as seldom as retries are gathered, because
 * what it finds wakes shards.
 */
export class TurnWatch {
  private nextAt: number;

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly run: RunPlan,
    private readonly gateway: Gateway,
  ) {
    this.nextAt = run.options.strategy === 'fallback' ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Shards to be woken or started now. */
  async look(): Promise<ShardRef[]> {
    const { db, run } = this;
    const startedAt = Date.now();
    if (startedAt < this.nextAt) return [];
    const changed = await stoppingRun(db, run, async () =>
      giveTurns(db, {
        runId: run.runId,
        channels: run.channels,
        afterMs: fallbackAfterMs(run.options),
        tellsMore: (await this.gateway.capabilities()).has('events'),
      }),
    );
    const took = Date.now() - startedAt;
    const gather = await gatherMs(db, run.runId);
    this.nextAt = Date.now() + Math.max(LIMITS.turnLookMs, took / LIMITS.turnLookShare, gather);
    return Array.isArray(changed) ? changed : [];
  }
}
