import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { planWake } from '../src/campaigns/runs/planned-wake';
import { databaseNow } from '../src/domain/database-clock';
import { LIMITS } from '../src/domain/limits';

/** Nothing to send now; without `waitMs`, nothing until the shard is woken. */
export interface Idle {
  kind: 'idle';
  waitMs?: number;
}

/**
 * A shard that sleeps for longer than a minute is woken in turn (src/campaigns/watch/planned-launches.ts), because many
 * campaigns wait for the same moment, such as the end of quiet hours. If nothing wakes it, it wakes by itself somewhat
 * later.
 */
export async function idleUntil(
  db: Kysely<CampaignTables>,
  runId: string,
  until: Date | undefined,
): Promise<Idle> {
  if (!until) return { kind: 'idle' };
  const waitMs = Math.max(0, until.getTime() - databaseNow());
  if (waitMs < LIMITS.plannedWakeMs) return { kind: 'idle', waitMs };
  await planWake(db, runId, until);
  return { kind: 'idle', waitMs: waitMs + LIMITS.plannedGraceMs };
}
