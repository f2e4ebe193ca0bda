import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { type OnLost, onLastingConnection } from './lasting-work';
import { retired } from './migrate';
import { splitStatements } from './split-statements';

/** Builds the indexes of large tables while they are written to. */
export interface OnlineIndexes {
  /** Settles when every index stands, or when the building was stopped. Rejects if one could not be built. */
  done: Promise<void>;
  /** Cancels the statement that runs. The next start drops what it left, and builds it again. */
  stop(): Promise<void>;
}

/** Called before an index is built, with its place among those that are missing. */
export type OnIndex = (index: { name: string; number: number; of: number }) => void;

/**
 * Creates what is missing of the indexes in `text`, each by `create index concurrently`, which lets the table be
 * written to. PostgreSQL runs that outside of a transaction only, and leaves an invalid index when it is killed, so
 * that it cannot be part of a migration. The catalogue says what is missing: nothing has to be remembered. One process
 * builds at a time, and the others wait for it.
 *
 * Queries are right without these indexes, and slow on large tables.
 */
export async function buildIndexes(
  db: Kysely<unknown>,
  text: string,
  onIndex: OnIndex = () => {},
  onLost: OnLost = () => {},
): Promise<OnlineIndexes> {
  const missing = await missingSteps(db, text);
  if (missing.length === 0) return { done: Promise.resolve(), stop: async () => {} };
  let isStopped = false;
  let backend: number | undefined;

  const build = async (connection: Kysely<unknown>) => {
    await sql`set statement_timeout = 0`.execute(connection);
    try {
      while (!(await takeLock(connection))) {
        if (isStopped) return;
        await delay(LIMITS.indexLockPauseMs);
      }
      backend = (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection)).rows[0]?.pid;
      const left = await missingSteps(connection, text);
      for (const [position, step] of left.entries()) {
        if (isStopped) return;
        onIndex({ name: step.name, number: position + 1, of: left.length });
        if (step.isInvalid)
          await sql.raw(`drop index concurrently if exists ${step.name}`).execute(connection);
        await sql.raw(step.statement).execute(connection);
      }
    } catch (error) {
      if (!isStopped) throw error;
    } finally {
      backend = undefined;
      await sql`select pg_advisory_unlock(${LOCK}::bigint)`.execute(connection).catch(() => undefined);
      await sql`reset statement_timeout`.execute(connection).catch(() => undefined);
    }
  };
  const done = onLastingConnection(db, build, { isStopped: () => isStopped, onLost });
  done.catch(() => undefined);

  return {
    done,
    async stop() {
      isStopped = true;
      if (backend !== undefined) await sql`select pg_cancel_backend(${backend}::int)`.execute(db);
      await done.catch(() => undefined);
    },
  };
}

export interface RetiredIndexes {
  /** Settles when those that may go at the start are gone. */
  looked: Promise<unknown>;
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

  /** Answers whether any is left. */
  async function look(): Promise<boolean> {
    if (stopped.signal.aborted || !(await isAnyLeft(db))) return false;
    dropping = await buildIndexes(db, await dropsNow(db));
    if (stopped.signal.aborted) await dropping.stop();
    await dropping.done;
    return isAnyLeft(db);
  }

  const looked = ready.then(look);
  const working = (async () => {
    await ready;
    let left = await looked.catch(() => true);
    while (left && !stopped.signal.aborted) {
      await delay(lookMs, undefined, { ref: false, signal: stopped.signal });
      // A database that does not answer is asked again the next time.
      left = await look().catch(() => true);
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

/** Statements that drop what is free to go. */
async function dropsNow(db: Kysely<unknown>): Promise<string> {
  const statements: string[] = [];
  for (const { migration, indexes, once } of retired()) {
    const { rows } = await sql<{ free: boolean }>`
      select (${once === undefined}::boolean or exists (select from gradual_updates where name = ${once ?? ''}))
        and not exists (
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

/** Any number that no other lock of this database has. */
const LOCK = 7_311_904_655_028_113n;

interface Step {
  name: string;
  statement: string;
  /** A killed process left it half-built. */
  isInvalid: boolean;
}

const CREATE = /^create index (\w+) on/;
const DROP = /^drop index (\w+)$/;

async function missingSteps(db: Kysely<unknown>, text: string): Promise<Step[]> {
  const { rows } = await sql<{ name: string; valid: boolean }>`
    select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema()`.execute(db);
  const found = new Map(rows.map(({ name, valid }) => [name, valid]));
  const steps: Step[] = [];
  for (const statement of splitStatements(text)) {
    const bare = statement.replace(/^--.*\n/gm, '').trim();
    const created = CREATE.exec(bare)?.[1];
    const dropped = DROP.exec(bare)?.[1];
    if (created !== undefined && found.get(created) !== true) {
      const online = bare.replace(CREATE, `create index concurrently ${created} on`);
      steps.push({ name: created, statement: online, isInvalid: found.has(created) });
    } else if (dropped !== undefined && found.has(dropped)) {
      steps.push({
        name: dropped,
        statement: `drop index concurrently if exists ${dropped}`,
        isInvalid: false,
      });
    } else if (created === undefined && dropped === undefined) {
      throw new Error(`An online index is created or dropped, not this: ${statement}`);
    }
  }
  return steps;
}

async function takeLock(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{
    taken: boolean;
  }>`select pg_try_advisory_lock(${LOCK}::bigint) as taken`.execute(db);
  return rows[0]?.taken === true;
}
