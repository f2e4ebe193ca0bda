import type { Kysely, Transaction } from 'kysely';
import type { Log } from '../log';
import type { Statement } from '../storage/with-first-change';
import { appendIn, appending } from './chain';
import type { AuditEvent } from './entry';
import { type ChainEnds, type EntryPage, type EntryQuery, readChainEnds, readEntries } from './read-entries';
import { createRepeated } from './repeated';
import { type ChainStart, readChainStart, type StartSealing } from './retention';
import type { AuditTables } from './tables';

/** Writes what happened into the chain of its workspace. */
export interface AuditLog {
  /** The last statement of a change's transaction. */
  appending(event: AuditEvent): Statement;
  /** In the transaction of a change; call it last. */
  appendIn<Tables>(tx: Transaction<Tables>, event: AuditEvent): Promise<void>;
  /** What no transaction belongs to. */
  record(event: AuditEvent): Promise<void>;
  /**
   * What a caller may repeat as often as it likes, such as a call that is refused: the first at once, those that
   * follow as one entry a minute with their count. Never fails; what cannot be written is logged.
   */
  recordRepeated(event: AuditEvent): Promise<void>;
  /** Writes the counts that are still held. */
  stop(): Promise<void>;
}

export function createAuditLog({
  db,
  log,
  now = Date.now,
  repeatedMs,
}: {
  db: Kysely<AuditTables>;
  log: Log;
  now?: () => number;
  /** Shorter in tests. */
  repeatedMs?: number;
}): AuditLog {
  const record = (event: AuditEvent) => db.transaction().execute((tx) => appendIn(tx, event, now()));
  const repeated = createRepeated({
    record,
    log,
    now,
    ...(repeatedMs === undefined ? {} : { windowMs: repeatedMs }),
  });
  return {
    appending: (event) => appending(event, now()),
    appendIn: (tx, event) => appendIn(tx, event, now()),
    record,
    recordRepeated: repeated.take,
    stop: repeated.stop,
  };
}

/** The log as a workspace's administrators read it. */
export interface AuditReader {
  entries(workspaceId: string, query: EntryQuery): Promise<EntryPage>;
  chain(workspaceId: string): Promise<ChainEnds & { start: ChainStart | null }>;
}

export const createAuditReader = (db: Kysely<AuditTables>, sealing: StartSealing): AuditReader => ({
  entries: (workspaceId, query) => readEntries(db, workspaceId, query),
  async chain(workspaceId) {
    const start = await readChainStart(db, sealing, workspaceId);
    return { ...(await readChainEnds(db, workspaceId)), start };
  },
});
