import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from './tables';

/**
 * What time it is by the database's clock, in milliseconds. Processes run on machines whose clocks differ, and what
 * is to happen once, at an hour, is decided by the one that they share.
 */
export async function databaseNow(db: Kysely<CampaignTables>): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const now = rows[0]?.now;
  if (!now) throw new Error('the database does not say what time it is');
  return now.getTime();
}
