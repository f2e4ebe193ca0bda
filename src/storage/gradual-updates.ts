import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { type OnLost, onLastingConnection } from './lasting-work';

/**
 * Fills a column of rows that are older than it, or copies something of them into another table. Rows that are written
 * meanwhile are right by themselves (a trigger).
 */
export type GradualUpdate = {
  name: string;
  table: string;
  /** Where it is a generated one, nothing is left to do. */
  column: string;
  /** True of rows that are still to be changed or copied, and of no row that was. */
  where: string;
  /** Carried out when every row is right, and again if the process is killed before that is remembered. */
  afterwards?: string;
} & ({ set: string } | { copy: { into: string; columns: string } });

export interface GradualUpdates {
  /** Settles when every row is right, or when the work was stopped. */
  done: Promise<void>;
  /** The next start goes on with the rows that are left. */
  stop(): Promise<void>;
}

/** Called now and then, with how much of the table was walked. */
export type OnUpdate = (progress: { name: string; percent: number }) => void;

/**
 * Carries out the updates that are not complete, each in small transactions that walk the table by its
 * blocks, because one statement would lock millions of rows for minutes. Completed updates are remembered. An
 * interrupted walk begins anew, and its condition finds the rows that are left. One process works at a time,
 * and the others wait for it.
 */
export async function updateGradually(
  db: Kysely<unknown>,
  updates: readonly GradualUpdate[],
  onUpdate: OnUpdate = () => {},
  onLost: OnLost = () => {},
): Promise<GradualUpdates> {
  if ((await missing(db, updates)).length === 0) return { done: Promise.resolve(), stop: async () => {} };
  let stopped = false;
  const isStopped = () => stopped;
  const walk = async (connection: Kysely<unknown>) => {
    while (!(await takeLock(connection))) {
      if (isStopped()) return;
      await delay(LIMITS.indexLockPauseMs);
    }
    try {
      for (const update of await missing(connection, updates)) {
        await carryOut(connection, update, { isStopped, onUpdate });
        if (isStopped()) return;
        if (update.afterwards !== undefined) await sql.raw(update.afterwards).execute(connection);
        await sql`insert into gradual_updates (name) values (${update.name}) on conflict do nothing`.execute(
          connection,
        );
      }
    } finally {
      await sql`select pg_advisory_unlock(${LOCK}::bigint)`.execute(connection).catch(() => undefined);
    }
  };
  const done = onLastingConnection(db, walk, { isStopped, onLost });
  done.catch(() => undefined);
  return {
    done,
    async stop() {
      stopped = true;
      await done.catch(() => undefined);
    },
  };
}

/** Any number that no other lock of this database has. */
const LOCK = 5_209_331_847_006_271n;

async function missing(
  db: Kysely<unknown>,
  updates: readonly GradualUpdate[],
): Promise<readonly GradualUpdate[]> {
  if (updates.length === 0) return [];
  const { rows: done } = await sql<{ name: string }>`select name from gradual_updates`.execute(db);
  const { rows: generated } = await sql<{ name: string }>`
    select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and a.attgenerated <> ''`.execute(db);
  const settled = new Set([...done, ...generated].map(({ name }) => name));
  return updates.filter(
    ({ name, table, column }) => !settled.has(name) && !settled.has(`${table}.${column}`),
  );
}

async function carryOut(
  db: Kysely<unknown>,
  update: GradualUpdate,
  { isStopped, onUpdate }: { isStopped: () => boolean; onUpdate: OnUpdate },
): Promise<void> {
  const { name, table, where } = update;
  const step = LIMITS.gradualUpdateBlocks;
  do {
    const blocks = await blocksOf(db, table);
    for (let block = 0; block < blocks; block += step) {
      if (isStopped()) return;
      const older = `${table} where ctid >= '(${block},0)'::tid and ctid < '(${block + step},0)'::tid and ${where}`;
      // A row that another transaction has locked is passed by, so that nothing waits; the next walk finds it.
      const statement =
        'set' in update
          ? `with older as (select ctid from ${older} for update skip locked)
             update ${table} t set ${update.set} from older where t.ctid = older.ctid`
          : `insert into ${update.copy.into} select ${update.copy.columns} from ${older} for key share skip locked`;
      await sql.raw(statement).execute(db);
      onUpdate({ name, percent: Math.min(100, Math.round((100 * (block + step)) / blocks)) });
    }
  } while (await isLeft(db, table, where));
}

async function blocksOf(db: Kysely<unknown>, table: string): Promise<number> {
  const { rows } = await sql<{ blocks: number }>`
    select (pg_relation_size(${table}::regclass) / current_setting('block_size')::int)::int as blocks`.execute(
    db,
  );
  return rows[0]?.blocks ?? 0;
}

async function isLeft(db: Kysely<unknown>, table: string, where: string): Promise<boolean> {
  const { rows } = await sql<{ left: boolean }>`
    select exists (select from ${sql.raw(table)} where ${sql.raw(where)}) as left`.execute(db);
  return rows[0]?.left === true;
}

async function takeLock(db: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql<{
    taken: boolean;
  }>`select pg_try_advisory_lock(${LOCK}::bigint) as taken`.execute(db);
  return rows[0]?.taken === true;
}
