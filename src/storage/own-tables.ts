import { type DatabaseIntrospector, type Kysely, PostgresDialect, sql } from 'kysely';

/**
 * Lists the schemas and tables that a migration needs to know. Kysely's own query reads the columns of every
 * table in the database, and fails when one of them is dropped meanwhile. This one reads only the names in our
 * schemas.
 */
export class OwnTablesDialect extends PostgresDialect {
  // biome-ignore lint/suspicious/noExplicitAny: the tables do not matter, as the class that is extended says.
  override createIntrospector(db: Kysely<any>): DatabaseIntrospector {
    const getTables = async () => {
      const { rows } = await sql<{ schema: string; name: string }>`
        select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname = any(current_schemas(false))`.execute(db);
      return rows.map((row) => ({ ...row, isView: false, columns: [] }));
    };
    return {
      getSchemas: async () =>
        (await sql<{ name: string }>`select nspname as name from pg_namespace`.execute(db)).rows,
      getTables,
      getMetadata: async () => ({ tables: await getTables() }),
    };
  }
}
