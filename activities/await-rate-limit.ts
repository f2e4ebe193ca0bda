import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { takePermits } from '../src/campaigns/runs/rate-limit';
import { readPaceTogether } from '../src/campaigns/runs/shared-pace';
import type { Control } from '../src/domain/campaign';
import { LIMITS } from '../src/domain/limits';
import { pause, stopIfCancelled } from './heartbeat';

export type Permission =
  | { kind: 'granted'; count: number }
  /** The rate is so low that a page worker should not be kept for the wait. */
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Waits until the run's rate allows some of `most` recipients, and at least `least`. It reads the run's control
 * during the wait, because a permit from before a pause must not send anything after it.
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
    // Without a grant, ask for permits again after each look, because the rate may have changed.
    const until = performance.now() + (granted === 0 ? Math.min(waitMs, LIMITS.paceLookMs) : waitMs);
    for (let left = waitMs; left > 0; left = until - performance.now()) {
      await pause(Math.max(1, Math.min(left, LIMITS.paceLookMs)));
      const { control } = await readPaceTogether(db, runId);
      if (control !== 'run') return { kind: 'stopped', control };
    }
    if (granted > 0) return { kind: 'granted', count: granted };
  }
}
