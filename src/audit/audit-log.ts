import type { Kysely, Transaction } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { Statement } from '../storage/with-first-change';
import { appendIn, appending } from './chain';
import type { AuditEvent } from './entry';
import { type ChainEnds, type EntryPage, type EntryQuery, readChainEnds, readEntries } from './read-entries';
import { type ChainStart, readChainStart, type StartSealing } from './retention';
import type { AuditTables } from './tables';

/** Writes what happened into the chain of its workspace. */
export interface AuditLog {
  /** The last statement of a change's transaction. */
  appending(event: AuditEvent): Statement;
  /** In the transaction of a change; call it last. */
  appendIn<Tables>(tx: Transaction<Tables>, event: AuditEvent): Promise<void>;
  /** Writes an event that belongs to no transaction. */
  record(event: AuditEvent): Promise<void>;
  /**
   * Writes an event that a caller may repeat as often as it likes, such as a refused call. The first is
   * written at once; the following ones become one entry a minute with their count. Never fails: an event
   * that cannot be written is logged.
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

interface Held {
  first: AuditEvent;
  count: number;
  since: number;
  timer: NodeJS.Timeout;
}

/**
 * Keeps a caller that repeats itself from filling the log: the first of equal events is written at once, and those
 * that follow within a minute are counted, and written as one entry at its end. A process that is killed loses
 * the count of the minute, and never the first.
 */
function createRepeated({
  record,
  log,
  now,
  windowMs = LIMITS.auditRepeatedMs,
}: {
  record(event: AuditEvent): Promise<void>;
  log: Log;
  now: () => number;
  windowMs?: number;
}) {
  const held = new Map<string, Held>();

  function hold(key: string, first: AuditEvent): void {
    const timer = setTimeout(() => void write(key, 'and go on'), windowMs);
    timer.unref();
    held.set(key, { first, count: 0, since: now(), timer });
  }

  /** A caller that went on until now is counted on, so that it has one entry a minute for as long as it does. */
  async function write(key: string, after: 'and go on' | 'and end'): Promise<void> {
    const { first, count, since, timer } = held.get(key) as Held;
    clearTimeout(timer);
    held.delete(key);
    if (count === 0) return;
    if (after === 'and go on') hold(key, first);
    const detail = { ...first.detail, count, since: new Date(since).toISOString() };
    await attempt({ ...first, detail });
  }

  /** Only logs a failure, because the call that the event is about has been carried out already. */
  const attempt = (event: AuditEvent): Promise<void> =>
    record(event).catch((error: unknown) =>
      log.warn({ err: error, action: event.action, result: event.result }, 'An event could not be audited'),
    );

  return {
    async take(event: AuditEvent): Promise<void> {
      const { workspaceId, actor, address, action, object, detail } = event;
      const key = JSON.stringify([workspaceId, actor, address, action, object.kind, detail]);
      const known = held.get(key);
      if (known) {
        known.count += 1;
        return;
      }
      if (held.size >= LIMITS.auditRepeatedHeld) {
        await Promise.all([...held.keys()].map((each) => write(each, 'and end')));
      }
      hold(key, event);
      await attempt({ ...event, detail: { ...detail, count: 1 } });
    },
    async stop(): Promise<void> {
      await Promise.all([...held.keys()].map((key) => write(key, 'and end')));
    },
  };
}
