import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { retired } from './migrate';
import { buildIndexes, type OnlineIndexes } from './online-indexes';

export interface RetiredIndexes {
  /** Settles when those that may go by now are gone. */
  looked: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Drops the indexes that only builds from before a migration use. None for as long as such a build may run, since its
 * queries would read whole tables, nor before what replaces the indexes is complete: looked at after `ready`, and from
 * then on every minute until none is left. Killed in between, the next start goes on.
 */
export function retireIndexes(
  db: Kysely<unknown>,
  ready: Promise<unknown>,
  lookMs: number = LIMITS.retiredIndexLookMs,
): RetiredIndexes {
  const stopped = new AbortController();
  let dropping: OnlineIndexes | undefined;

  async function look(): Promise<void> {
    dropping = await buildIndexes(db, await dropsNow(db));
    if (stopped.signal.aborted) await dropping.stop();
    await dropping.done;
  }

  const looked = ready.then(() => (stopped.signal.aborted ? undefined : look()));
  const working = (async () => {
    await looked;
    // A database that does not answer is asked again the next time.
    while (!stopped.signal.aborted && (await isAnyLeft(db).catch(() => true))) {
      await delay(lookMs, undefined, { ref: false, signal: stopped.signal });
      await look().catch(() => undefined);
    }
  })();
  working.catch(() => undefined);
  return {
    looked,
    async stop() {
      stopped.abort();
      await dropping?.stop();
      await working.catch(() => undefined);
    },
  };
}

/** Statements that online-indexes.ts carries out. */
async function dropsNow(db: Kysely<unknown>): Promise<string> {
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

async function isAnyLeft(db: Kysely<unknown>): Promise<boolean> {
  const names = retired().flatMap(({ indexes }) => indexes);
  const { rows } = await sql<{ left: boolean }>`
    select exists (
      select from pg_class where relname = any(${names}::text[]) and relnamespace = current_schema()::regnamespace
    ) as left`.execute(db);
  return rows[0]?.left === true;
}
