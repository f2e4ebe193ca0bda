import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';

/** A person whom tests erase, and where anything of them is left. */
export const NAME = 'Zebulon Quigley';
export const EMAIL = 'Zebulon.Q@Example.com';
export const PHONE = '+12025558861';
export const CITY = 'Timbuctoo-Secret';
/** As a search for the person would look: in any spelling. */
export const TRACES = ['zebulon', 'quigley', '2025558861', 'timbuctoo'];

/**
 * Every row of every table and materialized view, in whatever schema and type of column: the row as a whole as text,
 * and of columns of bytes what they hold as well.
 */
export async function tracesIn(db: Kysely<CampaignTables>): Promise<string[]> {
  const { rows: columns } = await sql<{ schema: string; table: string; column: string; type: string }>`
    select n.nspname as schema, c.relname as table, a.attname as column, a.atttypid::regtype::text as type
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and a.attnum > 0 and not a.attisdropped
      and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`.execute(db);
  expect(columns.filter(({ type }) => type === 'bytea').length).toBeGreaterThan(0);
  const found: string[] = [];
  for (const { schema, table, column, type } of columns) {
    const plain =
      type === 'bytea' ? sql`encode(${sql.ref(column)}, 'escape')` : sql`${sql.ref(column)}::text`;
    const value = sql`lower(${plain})`;
    const { rows } = await sql<{ value: string }>`
      select ${value} as value from ${sql.table(`${schema}.${table}`)}
      where ${sql.join(
        TRACES.map((one) => sql`position(${one} in ${value}) > 0`),
        sql` or `,
      )}`.execute(db);
    found.push(...rows.map((row) => `${table}.${column}: ${row.value.slice(0, 200)}`));
  }
  return found.sort();
}
