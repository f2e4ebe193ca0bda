import { hostname } from 'node:os';
import { type Kysely, sql } from 'kysely';
import { noteDatabaseClock } from '../domain/database-clock';
import { LIMITS } from '../domain/limits';
import type { Role } from '../domain/task-queues';
import { VERSION } from '../domain/version';
import type { Installation } from '../http/health';
import type { Log } from '../log';
import { NEWEST_MIGRATION } from '../storage/migrate';
import { makeIdsForFormerBuilds, newId } from '../storage/new-id';

/** What every process of the installation says of itself (0106-processes). */
export interface ProcessTables {
  processes: {
    id: string;
    host: string;
    pid: number;
    roles: ('http' | Role)[];
    version: string;
    build_id: string | null;
    started_at: Date;
    seen_at: Date;
  };
}

export interface RecordedProcess {
  id: string;
  stop(): Promise<void>;
}

interface RecordDeps {
  db: Kysely<ProcessTables>;
  roles: ('http' | Role)[];
  buildId: string | undefined;
  log: Log;
}

/** The migration that came with the shorter ids of decision 56. */
const SHORTER_IDS_SINCE = '0121-narrow-indexes';

/**
 * Says in the database that this process lives, until `stop`, and makes ids that processes of former builds know while one
 * lives. No other work depends on it: a write that fails is logged, and the next one makes up for it.
 */
export async function recordProcess({ db, roles, buildId, log }: RecordDeps): Promise<RecordedProcess> {
  const id = newId('proc');
  const write = async () => {
    try {
      // The row is gone after an hour's standstill, and is then made anew.
      await sql`
        insert into processes (id, host, pid, roles, version, build_id, newest_migration, started_at, seen_at)
        values (${id}, ${hostname()}, ${process.pid}, ${roles}, ${VERSION}, ${buildId ?? null}, ${NEWEST_MIGRATION},
          now() - ${process.uptime()} * interval '1 second', now())
        on conflict (id) do update set seen_at = excluded.seen_at`.execute(db);
      const askedAt = Date.now();
      const { rows } = await sql<{ live: boolean; at: Date }>`
        select clock_timestamp() as at, exists (
          select from processes where seen_at > now() - ${LIMITS.processSilentSeconds} * interval '1 second'
            and coalesce(newest_migration, '') < ${SHORTER_IDS_SINCE}
        ) as live`.execute(db);
      const [read] = rows;
      makeIdsForFormerBuilds(read?.live === true);
      const aheadMs = read && noteDatabaseClock({ at: read.at, askedAt, answeredAt: Date.now() });
      if (aheadMs !== undefined)
        log.warn(
          // Whole seconds, so that the log takes the next ones for the same.
          { aheadSeconds: Math.round(aheadMs / 1_000) },
          "This machine's clock is not the database's; let both follow a time server (NTP)",
        );
      await sql`
        delete from processes where seen_at < now() - ${LIMITS.processKeptMinutes} * interval '1 minute'`.execute(
        db,
      );
    } catch (error) {
      log.warn({ err: error }, 'This process could not be listed; trying again with the next sign of life');
    }
  };
  await write();
  let last = Promise.resolve();
  const timer = setInterval(() => {
    last = write();
  }, LIMITS.processSignSeconds * 1_000);
  timer.unref();
  return {
    id,
    async stop() {
      clearInterval(timer);
      // A sign that is under way would otherwise make the row anew.
      await last;
      await sql`delete from processes where id = ${id}`.execute(db);
    },
  };
}

interface ReadDeps {
  db: Kysely<ProcessTables>;
  /** The process that answers. */
  processId: string;
  /** The program runs the database by itself. */
  isManaged: boolean;
  temporal: {
    address: string;
    namespace: string;
    uiUrl: string | undefined;
    /** Rejects while the server does not answer. */
    version(): Promise<string>;
  };
}

/** What makes up the installation now: its processes, its database and its Temporal server. */
export function installationReader({ db, processId, isManaged, temporal }: ReadDeps) {
  return async (): Promise<Installation> => {
    const { address, namespace, uiUrl, version } = temporal;
    const [processes, database, temporalVersion] = await Promise.all([
      listProcesses(db, processId),
      readDatabase(db),
      version().catch(() => null),
    ]);
    return {
      version: VERSION,
      node: process.version,
      processes,
      database: { ...database, isManaged },
      temporal: { address, namespace, version: temporalVersion, uiUrl: uiUrl ?? null },
    };
  };
}

const lives = sql<boolean>`seen_at > now() - ${LIMITS.processSilentSeconds} * interval '1 second'`;

export async function countLivingProcesses(db: Kysely<ProcessTables>): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from processes where ${lives}`.execute(db);
  return rows[0]?.n ?? 0;
}

/** Those that live first, each group in the order in which they were started. */
async function listProcesses(
  db: Kysely<ProcessTables>,
  processId: string,
): Promise<Installation['processes']> {
  const rows = await db
    .selectFrom('processes')
    .selectAll()
    .select(lives.as('lives'))
    .orderBy('lives', 'desc')
    .orderBy('started_at')
    .orderBy('id')
    .limit(LIMITS.processesListed)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    host: row.host,
    pid: row.pid,
    roles: row.roles,
    version: row.version,
    buildId: row.build_id,
    startedAt: row.started_at.toISOString(),
    lastSeenAt: row.seen_at.toISOString(),
    state: row.lives ? 'lives' : 'silent',
    answers: row.id === processId,
  }));
}

async function readDatabase(db: Kysely<ProcessTables>): Promise<{ version: string; schema: string }> {
  const { rows } = await sql<{ version: string; schema: string }>`
    select current_setting('server_version') as version, max(name) as schema from kysely_migration`.execute(
    db,
  );
  const [found] = rows;
  if (!found) throw new Error('The database has no migrations');
  return found;
}
