import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { retired } from './migrate';

/**
 * Statements that drop the indexes which only builds from before a migration use (online-indexes.ts carries them out). None
 * for as long as such a build may run, since its queries would read whole tables, nor before what replaces the indexes is
 * complete. Asked at each start: the last process of an upgrade finds that they may go, or the next start does.
 */
export async function retiredIndexes(db: Kysely<unknown>): Promise<string> {
  const statements: string[] = [];
  for (const { migration, indexes, once } of retired()) {
    const { rows } = await sql<{ free: boolean }>`
      select exists (select from gradual_updates where name = ${once}) and not exists (
        select from processes where seen_at > now() - ${LIMITS.processSilentSeconds} * interval '1 second'
          and coalesce(newest_migration, '') < ${migration}
      ) as free`.execute(db);
    if (rows[0]?.free) statements.push(...indexes.map((index) => `drop index ${index};\n`));
  }
  return statements.join('');
}
