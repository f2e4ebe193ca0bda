import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';

/** Whether work that reads or writes all of the database takes only a moment, so that it may be waited for. */
export async function isSmall(kysely: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(pg_table_size(oid)), 0)::float8 as bytes from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace`.execute(kysely);
  return (rows[0]?.bytes ?? 0) < LIMITS.indexesAwaitedBytes;
}
