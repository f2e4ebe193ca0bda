import type { Kysely } from 'kysely';
import { takePermits } from '../src/campaigns/runs/rate-limit';
import { readPaceTogether } from '../src/campaigns/runs/shared-pace';
import type { CampaignTables } from '../src/campaigns/tables';
import type { Control } from '../src/domain/campaign';
import { LIMITS } from '../src/domain/limits';
import { pause, stopIfCancelled } from './heartbeat';

export type Permission =
  | { kind: 'granted'; count: number }
  /** The pace is so low that the wait is not worth a worker's place. */
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Waits for the run's pace to allow some of `most` recipients, and no fewer than `least`. What the owner wants
 * is read all the while: after a pause nothing is sent for which a permit was given before it.
 */
export async function awaitRateLimit(
  db: Kysely<CampaignTables>,
  runId: string,
  demand: { least: number; most: number },
): Promise<Permission> {
  for (;;) {
    stopIfCancelled();
    const { granted, waitMs } = await takePermits(db, runId, demand);
    if (granted === 0 && waitMs > LIMITS.paceWaitMs) return { kind: 'backoff', waitMs };
    // Without a grant the pace may change meanwhile, so it is asked for again after each look.
    const until = performance.now() + (granted === 0 ? Math.min(waitMs, LIMITS.paceLookMs) : waitMs);
    for (let left = waitMs; left > 0; left = until - performance.now()) {
      await pause(Math.max(1, Math.min(left, LIMITS.paceLookMs)));
      const { control } = await readPaceTogether(db, runId);
      if (control !== 'run') return { kind: 'stopped', control };
    }
    if (granted > 0) return { kind: 'granted', count: granted };
  }
}
