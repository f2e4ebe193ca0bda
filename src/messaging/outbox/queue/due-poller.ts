import type { Kysely } from 'kysely';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { MessagingTables } from '../../model/tables';
import { bringRefusedForward, firstOfFlows, nextDueMs, readDue } from './due-messages';
import { ANY_TIME, type OutboxQueue } from './outbox-queue';
import type { Partition } from './partitions';
import type { Window } from './window';

/** A partition's former owner may have had an insert under way when it lost the partition. */
const ADOPTED_POLL_MS = 1_000;
const RETRY_MS = 500;
/** Content that one reading brings of a flow. */
const READ_BYTES_MAX = LIMITS.queuedBytes / 16;
/** Each reading holds a connection. */
const READINGS_MAX = 3;

/**
 * Fills the windows of memory from the table: with messages beyond a window's share, of a later time,
 * released from a hold, to be tried again, or left by a partition's former owner. Each flow knows when to
 * read it next, so that an idle service only asks the database, twice a minute, which flows have messages.
 */
export class DuePoller {
  private readings = 0;
  /** When the flows of a partition have to be looked up; those that are accepted here are known. */
  private readonly lookUpAtMs = new Map<Partition, number>();
  private readonly lookingUp = new Set<Partition>();

  constructor(
    private readonly deps: {
      db: Kysely<MessagingTables>;
      queue: OutboxQueue;
      log: Log;
      /** Something may be ready that was not. */
      wake(): void;
    },
  ) {}

  /** The flows in the partition are not known, or any of them may have something that is not expected. */
  lookUp(partition: Partition): void {
    // It is looked up anyway when it may be read.
    if (partition.isReadable) this.lookUpAtMs.set(partition, 0);
  }

  /** Each flow may have something due that is not expected. */
  lookAgain(partitions: Iterable<Partition>): void {
    const { queue, wake } = this.deps;
    for (const window of queue.allWindows()) queue.expectIn(window, ANY_TIME);
    for (const partition of partitions) this.lookUp(partition);
    wake();
  }

  /** A probe must find a message: all that there are may be those that were refused, and are in the table after `recorded`. */
  async bringForward(partitions: Iterable<Partition>, recorded?: Promise<void>): Promise<void> {
    await recorded;
    const open = [...partitions];
    try {
      const ids = open.map(({ id }) => id);
      if (await bringRefusedForward(this.deps.db, ids)) this.lookAgain(open);
    } catch (error) {
      this.deps.log.warn({ err: error }, 'Messages of a refused account wait for the time of their next try');
    }
  }

  close(partition: Partition): void {
    this.lookUpAtMs.delete(partition);
  }

  /** Reads what is worth reading, and answers when to ask again. `isOpen`: whether a window's messages could leave. */
  pump(nowMs: number, isOpen: (window: Window) => boolean): number {
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const [partition, atMs] of this.lookUpAtMs) {
      if (this.lookingUp.has(partition)) continue;
      if (atMs > nowMs) nextAtMs = Math.min(nextAtMs, atMs);
      else void this.findFlows(partition);
    }
    const { queue } = this.deps;
    const readable = new Map<Partition, Window[]>();
    for (const window of queue.unread) {
      if (window.reading || !isOpen(window)) continue;
      if (window.readAtMs > nowMs) nextAtMs = Math.min(nextAtMs, window.readAtMs);
      else if (isWorthReading(queue, window)) {
        const ofPartition = readable.get(window.partition);
        if (ofPartition) ofPartition.push(window);
        else readable.set(window.partition, [window]);
      }
    }
    for (const [partition, windows] of readable) {
      // Transactional messages are read first.
      windows.sort(
        (a, b) => Number(b.key.class === 'transactional') - Number(a.key.class === 'transactional'),
      );
      for (let i = 0; i < windows.length && this.readings < READINGS_MAX; i += LIMITS.queuedFlowsRead) {
        void this.read(partition, windows.slice(i, i + LIMITS.queuedFlowsRead));
      }
    }
    return nextAtMs;
  }

  private async findFlows(partition: Partition): Promise<void> {
    const { db, queue, log, wake } = this.deps;
    this.lookingUp.add(partition);
    // A request that comes while the query runs starts another query.
    this.lookUpAtMs.set(partition, Number.POSITIVE_INFINITY);
    let againAtMs = Date.now() + (partition.adopted ? ADOPTED_POLL_MS : LIMITS.dueLookUpMs);
    try {
      const found = await firstOfFlows(db, partition.id);
      if (!partition.lost) {
        for (const { message, dueMs } of found) {
          const window = queue.windowOf(partition, message);
          if (dueMs <= Date.now()) window.behind = true;
          if (!queue.isHeldWindow(window)) queue.expectIn(window, dueMs <= Date.now() ? ANY_TIME : dueMs);
        }
      }
    } catch (error) {
      againAtMs = Date.now() + RETRY_MS;
      log.warn({ err: error }, 'The outbox could not be read; trying again');
    } finally {
      this.lookingUp.delete(partition);
      const asked = this.lookUpAtMs.get(partition);
      if (asked !== undefined) this.lookUpAtMs.set(partition, Math.min(asked, againAtMs));
      if (partition.lost) this.close(partition);
      wake();
    }
  }

  private async read(partition: Partition, windows: readonly Window[]): Promise<void> {
    const { db, queue, log, wake } = this.deps;
    this.readings += 1;
    const nowMs = Date.now();
    const now = new Date(nowMs).toISOString();
    const asked = windows.map((window) => ({ window, ...begin(queue, window, nowMs) }));
    const watch = queue.watch();
    try {
      const rows = await readDue(db, {
        partition: partition.id,
        flows: asked.map(({ window, fromMs, countMax }) => ({
          flow: window.flow,
          from: new Date(fromMs).toISOString(),
          countMax,
          without: window.stayingAt,
        })),
        except: queue.idsOf(partition, new Set(windows.map(({ flow }) => flow))),
        now,
        bytesMax: READ_BYTES_MAX,
      });
      if (partition.lost) return;
      const fresh = rows.map(({ message }) => message).filter(({ id }) => !watch.departed.has(id));
      queue.addRead(partition, fresh);
      const counts = new Map<number, { count: number; bytes: number; lastMs: number }>();
      for (const { message, dueMs } of rows) {
        const known = counts.get(message.flow) ?? { count: 0, bytes: 0, lastMs: 0 };
        counts.set(message.flow, {
          count: known.count + 1,
          bytes: known.bytes + message.size,
          lastMs: dueMs,
        });
      }
      const done: Window[] = [];
      for (const { window, countMax } of asked) {
        const got = counts.get(window.flow);
        if (got && (got.count >= countMax || got.bytes >= READ_BYTES_MAX)) {
          window.behind = true;
          // The next ones are due no earlier; what is to be tried again before is expected by itself.
          window.readUpToMs = got.lastMs;
          queue.expectIn(window, nowMs + 1);
        } else done.push(window);
      }
      if (done.length > 0) await this.expectNext(partition, done, now);
    } catch (error) {
      log.warn({ err: error }, 'The outbox could not be read; trying again');
      for (const window of windows) {
        window.behind = true;
        window.fullAtMs = 0;
        window.notBeforeMs = Date.now() + RETRY_MS;
        queue.expectIn(window, ANY_TIME);
      }
    } finally {
      for (const window of windows) queue.endReading(window, watch.departed);
      watch.end();
      this.readings -= 1;
      wake();
    }
  }

  /** These have nothing more that is due. */
  private async expectNext(partition: Partition, windows: readonly Window[], now: string): Promise<void> {
    const { db, queue } = this.deps;
    const flows = windows.map(({ flow }) => flow);
    const next = await nextDueMs(db, { partition: partition.id, flows, now });
    for (const window of windows) {
      const dueMs = next.get(window.flow);
      if (dueMs !== undefined) queue.expectIn(window, dueMs);
    }
  }
}

/** A window is filled up when it is half empty, so that a large flow is read by hundreds. */
function isWorthReading(queue: OutboxQueue, window: Window): boolean {
  if (queue.isHeldWindow(window)) return false;
  const room = queue.roomOf(window);
  return window.behind ? room >= queue.sizeOf(window) / 2 && room > 0 : room > 0;
}

/**
 * Marks the window as being read, and returns what to read. Mostly these are the messages that became due
 * since the last reading, because all messages that were handed over since the table was last vacuumed stand
 * before it in the index.
 */
function begin(queue: OutboxQueue, window: Window, nowMs: number): { fromMs: number; countMax: number } {
  const isFull = window.partition.adopted || nowMs >= window.fullAtMs;
  const fromMs = isFull ? ANY_TIME : window.readUpToMs;
  if (isFull) window.fullAtMs = nowMs + LIMITS.dueFullReadMs;
  const wasBehind = window.behind;
  window.reading = true;
  window.behind = false;
  // Set before the reading, so that what is let go of while it runs is known to be expected again.
  window.readUpToMs = nowMs;
  window.notBeforeMs = wasBehind ? nowMs : nowMs + LIMITS.dueReadMs;
  window.readAtMs = Number.POSITIVE_INFINITY;
  queue.unread.delete(window);
  return { fromMs, countMax: Math.max(1, queue.roomOf(window)) };
}
