import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from './tables';

/**
 * The time by the database's clock, in milliseconds. Machines' clocks differ, so what must happen once at a
 * certain time is decided by the clock that all processes share.
 */
export async function databaseNow(db: Kysely<CampaignTables>): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const now = rows[0]?.now;
  if (!now) throw new Error('the database does not say what time it is');
  return now.getTime();
}
