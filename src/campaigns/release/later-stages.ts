import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';

/** Whether contacts of the run wait for a stage that has not begun: until then it is not all sent. */
export async function hasLaterStage(db: Kysely<CampaignTables>, runId: string): Promise<boolean> {
  const { rows } = await sql<{ later: boolean }>`select ${laterStage(sql`${runId}::text`)} as later`.execute(
    db,
  );
  return rows[0]?.later === true;
}

/** SQL over a run's id. */
export const laterStage = (runId: ReturnType<typeof sql>) => sql<boolean>`exists (
  select from run_releases l join run_stages s on s.run_id = l.run_id and s.stage > l.stage and s.contacts > 0
  where l.run_id = ${runId})`;

/**
 * Whether a stage was opened just now. Its recipients are not gathered like retries: an attempt may have opened them and
 * died before its answer.
 */
export async function isStageFresh(db: Kysely<CampaignTables>, runId: string): Promise<boolean> {
  const { rows } = await sql<{ fresh: boolean }>`
    select exists (
      select from run_stages s where s.run_id = ${runId} and s.begun_at is not null
        and (s.opened_at is null or s.opened_at > clock_timestamp() - ${LIMITS.gatherMaxMs} * interval '1 millisecond')
    ) as fresh`.execute(db);
  return rows[0]?.fresh === true;
}
