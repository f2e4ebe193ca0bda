import type { Kysely } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { MessageEvent } from '../../domain/message';
import type { Log } from '../../log';
import { newId } from '../../storage/new-id';
import type { EndedCall } from '../calls/call-events';
import { callStarts } from '../calls/calls';
import type { CallEndings, EventFeed, EventSource, FeedHeads, SendLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { AbortWatch } from '../outcomes/abort-watch';
import { applyEvents, readCursor } from '../outcomes/outcomes';
import { askedWorkspaces, type FollowedWorkspace, followedWorkspaces } from './followed-workspaces';
import { giveUpWatch, type Watch } from './watch';

export interface FeedParts {
  /** Equal in processes with credentials for the same workspaces; one of these processes reads the feeds. */
  scope: string;
  source: EventSource;
  /** Positions of the feeds in this database. Without it, every feed is polled now and then. */
  heads?: FeedHeads | undefined;
  signals: CallEndings & Pick<SendLauncher, 'wakeSend'>;
  /** Resolves when no late request of this process has to be let pass. */
  pass?: (() => Promise<void>) | undefined;
  log: Log;
}

/** How often the list of followed workspaces is read. */
const LOOK_MS = 60_000;
/** How long one request holds a feed open. */
const WAIT_SECONDS = 2;
/** Between two reads of a closely followed feed that returned no events. */
const HELD_MS = 1_000;
/** Feeds that are read at once; some of them may be held open without events. */
const READS_AT_ONCE = 32;
const HELD_AT_ONCE = 16;
/**
 * A feed that had events, or is asked for, is followed closely for this long. After that, reads come further
 * apart.
 */
const CLOSE_MS = 60_000;
/**
 * The interval between reads of a quiet feed is this share of its silence. An event after an hour is thus read
 * within six minutes.
 */
const QUIET_SHARE = 0.1;
const AWAITED_MAX_MS = 30_000;
const LATE_MAX_MS = 60 * 60_000;
/**
 * While many events arrive, the feed is read at most this often, and up to `PAGES_MAX` pages are applied
 * together. A statement with several parts costs a millisecond whatever it contains. And a message whose
 * receipt follows soon costs one row update instead of two.
 */
const GATHER_MS = 250;
const CROWD = 50;
const PAGES_MAX = 5;
/** The server takes some 10 ms for each signal; one after the other, calls would learn of their end late. */
const SIGNALS_AT_ONCE = 16;
const FAULT_MS = 1_000;
const FAULT_MAX_MS = 30_000;

interface Feed {
  workspaceId: string;
  isAwaited: boolean;
  cursor?: string | undefined;
  quietSince: number;
  nextAt: number;
  faults: number;
  /** The position of the feed's head before it was read to its end. */
  readTo?: number | undefined;
}

/**
 * Reads the event feeds of all workspaces into the ledger, and wakes the calls and durable sends that have
 * ended. Of all processes with the same credentials, one does this. A feed with events is held open and read at
 * once. A quiet feed in this database is read when its head has moved; one statement a second finds this for
 * all feeds. A feed elsewhere costs a short request now and then, the more rarely the longer it was quiet:
 * within half a minute where a run or a send waits for it, otherwise within an hour.
 *
 * The cursor moves in the transaction that applies the events, and the signals follow. If a signal is lost in
 * between, the call's or the durable send's own poll makes up for it. Two processes may read the same feed for
 * a moment: the second one to move the cursor changes nothing.
 */
export class Feeds {
  private readonly feeds = new Map<string, Feed>();
  private readonly reading = new Map<string, Promise<void>>();
  private readonly abort: AbortWatch;
  private readonly watch: Watch;
  private heads: ReadonlyMap<string, number> = new Map();
  private stamp: string | null = null;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private warnedAt = Number.NEGATIVE_INFINITY;
  private isResting = true;

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly parts: FeedParts,
  ) {
    this.abort = new AbortWatch(db);
    this.watch = { name: `feeds ${parts.scope}`, owner: newId('wat') };
  }

  /** Runs once a second: starts reading the due feeds, unless another process reads them. */
  async tick(): Promise<void> {
    const asked = await askedWorkspaces(this.db, this.watch, this.parts.heads?.stamp);
    if (!asked) return this.rest();
    this.isResting = false;
    const now = Date.now();
    if (now - this.lookedAt >= LOOK_MS) {
      this.follow(await followedWorkspaces(this.db));
      this.lookedAt = now;
    }
    await this.readHeads(asked.stamp);
    for (const { workspaceId, askedAt } of asked.workspaces) {
      const feed = this.feeds.get(workspaceId) ?? this.add(workspaceId, askedAt.getTime());
      feed.isAwaited = true;
      if (askedAt.getTime() <= feed.quietSince) continue;
      feed.quietSince = askedAt.getTime();
      feed.nextAt = Math.min(feed.nextAt, now);
    }
    await this.abort.settle();
    this.startReads();
  }

  /** Leaves the feeds to another process. Resolves when no read is running any more. */
  async stop(): Promise<void> {
    // If the watch cannot be released, the next process waits until it has expired.
    await giveUpWatch(this.db, this.watch).catch(() => undefined);
    await this.rest();
  }

  private async rest(): Promise<void> {
    this.isResting = true;
    this.lookedAt = Number.NEGATIVE_INFINITY;
    this.feeds.clear();
    await Promise.all(this.reading.values());
  }

  private follow(workspaces: readonly FollowedWorkspace[]): void {
    const followed = new Set(workspaces.map(({ workspaceId }) => workspaceId));
    for (const { workspaceId, isAwaited, lastAt } of workspaces) {
      const feed = this.feeds.get(workspaceId) ?? this.add(workspaceId, lastAt?.getTime() ?? Date.now());
      feed.isAwaited = isAwaited;
    }
    const forgottenBefore = Date.now() - CLOSE_MS;
    for (const [id, { quietSince }] of this.feeds) {
      if (!followed.has(id) && quietSince < forgottenBefore) this.feeds.delete(id);
    }
  }

  /** Makes quiet feeds due whose head has moved since they were read. */
  private async readHeads(stamp: string | null): Promise<void> {
    if (!this.parts.heads || stamp === this.stamp) return;
    this.heads = await this.parts.heads.read();
    this.stamp = stamp;
    for (const feed of this.feeds.values()) {
      if (feed.readTo !== undefined && this.heads.get(feed.workspaceId) !== feed.readTo) feed.nextAt = 0;
    }
  }

  private add(workspaceId: string, quietSince: number): Feed {
    const feed = { workspaceId, isAwaited: false, quietSince, nextAt: 0, faults: 0 };
    this.feeds.set(workspaceId, feed);
    return feed;
  }

  private startReads(): void {
    const now = Date.now();
    const due = [...this.feeds.values()].filter(
      (feed) => feed.nextAt <= now && !this.reading.has(feed.workspaceId),
    );
    due.sort((one, other) => one.nextAt - other.nextAt);
    for (const feed of due) {
      if (this.reading.size >= READS_AT_ONCE) return;
      const read = this.read(feed)
        .catch((error: unknown) => this.fault(feed, error))
        .finally(() => {
          this.reading.delete(feed.workspaceId);
          if (!this.isResting) this.startReads();
        });
      this.reading.set(feed.workspaceId, read);
    }
  }

  /** Reads until the feed has no more events for now. */
  private async read(feed: Feed): Promise<void> {
    const { workspaceId } = feed;
    const service = await this.parts.source.feedOf(workspaceId);
    if (!service) {
      feed.nextAt = Date.now() + LATE_MAX_MS;
      return;
    }
    feed.cursor ??= await readCursor(this.db, workspaceId);
    await this.parts.pass?.();
    const isClose = Date.now() - feed.quietSince < CLOSE_MS;
    const mayHold = isClose && this.reading.size <= HELD_AT_ONCE;
    const readAt = Date.now();
    const head = this.parts.heads?.isOf(workspaceId) ? this.heads.get(workspaceId) : undefined;
    const { events, next } = await readPages(service, feed.cursor, mayHold ? WAIT_SECONDS : 0);
    feed.faults = 0;
    feed.readTo = events.length === 0 ? head : undefined;
    if (events.length === 0) {
      const quietMs = Date.now() - feed.quietSince;
      const asked = Math.min(quietMs * QUIET_SHARE, feed.isAwaited ? AWAITED_MAX_MS : LATE_MAX_MS);
      // If the head has moved after the page was read, readHeads() has made the feed due, and the line below
      // would overwrite that.
      const isAtHead = head !== undefined && head === this.heads.get(workspaceId);
      const apart = head === undefined ? asked : isAtHead ? LATE_MAX_MS : 0;
      // A feed that was not held open, perhaps because the service never does, is read again a second later.
      feed.nextAt = quietMs < CLOSE_MS ? readAt + HELD_MS : Date.now() + apart;
      return;
    }
    feed.quietSince = Date.now();
    const isCrowd = await this.take(feed, next, events);
    feed.nextAt = isCrowd ? readAt + GATHER_MS : 0;
    const leftMs = feed.nextAt - Date.now();
    if (leftMs > 0) await new Promise((done) => setTimeout(done, leftMs));
  }

  /** Returns whether to gather more events before the next page. */
  private async take(feed: Feed, next: string, events: readonly MessageEvent[]): Promise<boolean> {
    const { signals, log } = this.parts;
    const { workspaceId, cursor = '' } = feed;
    const taken = await applyEvents(this.db, workspaceId, cursor, next, events);
    if (!taken) {
      log.info(
        { workspaceId },
        'another process has read this feed; it is read again from where that one left it',
      );
      feed.cursor = undefined;
      return false;
    }
    feed.cursor = next;
    const { calls } = taken;
    await inParallel(await this.withStarts(calls), SIGNALS_AT_ONCE, (call) => signals.callEnded(call));
    for (const runId of taken.runs) await this.abort.note(runId, true);
    await inParallel(taken.sends, SIGNALS_AT_ONCE, (sendId) => signals.wakeSend(sendId));
    // With few events, a workflow may wait for each of them; and behind full pages there are more.
    const isCrowd = events.length >= CROWD && events.length < PAGES_MAX * LIMITS.longPageSizeMax;
    return isCrowd && calls.length + taken.sends.length === 0;
  }

  /**
   * Finds the workflow of each call. A first attempt belongs to the first workflow; for a later one it is
   * looked up.
   */
  private async withStarts(calls: readonly EndedCall[]): Promise<(EndedCall & { from: number })[]> {
    const later = calls.filter((call) => call.attempt > 1);
    const starts = new Map<string, number>();
    for (const runId of new Set(later.map((call) => call.runId))) {
      const seqs = later.filter((call) => call.runId === runId).map((call) => call.seq);
      for (const { seq, from } of await callStarts(this.db, runId, seqs)) starts.set(`${runId}.${seq}`, from);
    }
    return calls.map((call) => ({ ...call, from: starts.get(`${call.runId}.${call.seq}`) ?? 1 }));
  }

  /** Retries for ever, because a revoked key is replaced and a proxy's 404 passes. */
  private fault(feed: Feed, error: unknown): void {
    feed.cursor = undefined;
    feed.nextAt = Date.now() + Math.min(FAULT_MAX_MS, FAULT_MS * 2 ** feed.faults++);
    if (this.isResting || Date.now() - this.warnedAt < LOOK_MS) return;
    this.warnedAt = Date.now();
    this.parts.log.warn(
      { err: error, workspaceId: feed.workspaceId },
      'could not read an event feed; trying again within half a minute',
    );
  }
}

async function readPages(service: EventFeed, after: string, waitSeconds: number) {
  const events: MessageEvent[] = [];
  for (let next = after, pages = 1; ; pages++) {
    const page = await service.readEvents(next, LIMITS.longPageSizeMax, pages === 1 ? waitSeconds : 0);
    events.push(...page.events);
    next = page.next;
    if (page.events.length < LIMITS.longPageSizeMax || pages === PAGES_MAX) return { events, next };
  }
}
