import { type Kysely, Migrator, sql } from 'kysely';
import * as initial from './migrations/0001-initial';
import * as campaigns from './migrations/0002-campaigns';
import * as smsParts from './migrations/0009-sms-parts';

/** Every migration, in order. A released one is never edited; a change of schema is a new entry. */
export const MIGRATIONS: Record<string, string> = {
  '0001-initial': initial.UP,
  '0002-campaigns': campaigns.UP,
  '0009-sms-parts': smsParts.UP,
};

/**
 * Brings the schema up to date under a database lock, so that many processes may start at once.
 * Migrations are plain SQL and go forward only.
 */
export async function migrateToLatest(kysely: Kysely<unknown>, schema?: string): Promise<void> {
  if (schema) await sql`create schema if not exists ${sql.id(schema)}`.execute(kysely);
  const migrator = new Migrator({
    db: kysely,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(MIGRATIONS).map(([name, text]) => [
            name,
            {
              up: async (db: Kysely<unknown>) => {
                for (const statement of splitStatements(text)) await sql.raw(statement).execute(db);
              },
            },
          ]),
        ),
    },
    ...(schema ? { migrationTableSchema: schema } : {}),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}

/** The embedded engine takes one statement a call. A statement ends with a semicolon at a line's end. */
function splitStatements(text: string): string[] {
  return text
    .split(/;[ \t]*\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement.replace(/--.*$/gm, '').trim() !== '');
}
