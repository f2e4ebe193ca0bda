import { LIMITS } from '../../../domain/limits';
import type { OutgoingMessage } from '../../model/outgoing';
import type { SenderLimits } from '../../senders/sender-limits';
import { WayShares } from './admission';
import type { Holds } from './holds';
import type { MessageClass } from './outbox-count';
import type { Partition } from './partitions';
import { spendGrant, WaitingQueues } from './waiting-queues';
import { type Entry, newWindow, type Window } from './window';

/**
 * The messages that this process has in hand: waiting for their turn, or taken on their way to the provider. A
 * message that is in hand is not read from the table a second time; that a message is in one place only rests on
 * this file, which is long because of that. Where it waits is the matter of `waiting`.
 */
export class OutboxQueue {
  private readonly inHand = new Map<string, Entry>();
  private readonly windows = new Map<string, Window>();
  private readonly shares = new WayShares();
  private readonly watchers = new Set<Set<string>>();
  readonly waiting: WaitingQueues;
  /** Windows of which the table holds more, now or later. */
  readonly unread = new Set<Window>();

  constructor(
    private readonly deps: {
      limits: Pick<SenderLimits, 'keyOf' | 'queueMax'>;
      holds: Pick<Holds, 'isHeld'>;
      wayOf(message: OutgoingMessage): string;
      /** Whether a way takes nothing until `reroute`. */
      isOut(way: string): boolean;
      /** A token was taken for it, and it left memory without leaving for the provider. */
      onUnused(entry: Entry): void;
    },
  ) {
    this.waiting = new WaitingQueues(deps);
  }

  /**
   * Freshly accepted: into memory, unless older ones of the flow wait in the table or there is no room. `dueMs` is what
   * the table has as their time. The table was written after it, and a reading in between has passed them over.
   */
  offer(partition: Partition, messages: readonly OutgoingMessage[], dueMs: number): void {
    for (const message of messages) {
      if (this.inHand.has(message.id)) continue;
      const window = this.windowOf(partition, message);
      if (window.behind || this.roomOf(window) <= window.parked.length) {
        // A reading that is under way may have begun before the message was there.
        this.fallBehind(window, window.reading ? ANY_TIME : dueMs);
      } else if (window.reading) window.parked.push(message);
      else this.enter(window, message);
    }
  }

  /**
   * The reading has ended. Messages accepted meanwhile come behind those that were read, unless they were
   * read too or more of the flow is in the table. Without it, a flow that has once been read would be read
   * again for as long as messages come without a pause.
   */
  endReading(window: Window, departed: ReadonlySet<string>): void {
    const { partition, parked } = window;
    window.reading = false;
    window.parked = [];
    if (parked.length > 0 && window.behind) this.fallBehind(window, ANY_TIME);
    else if (!partition.lost) {
      for (const message of parked) {
        if (!this.inHand.has(message.id) && !departed.has(message.id)) {
          this.enter(this.windowOf(partition, message), message);
        }
      }
    }
    this.forgetIfIdle(window);
  }

  /** What was read from the table. One message always finds room, so that a large content leaves all the same. */
  addRead(partition: Partition, messages: readonly OutgoingMessage[]): void {
    for (const message of messages) {
      if (this.inHand.has(message.id)) continue;
      this.enter(this.windowOf(partition, message), message);
    }
  }

  /** A message of the flow is in the table whose time is then, or ANY_TIME. */
  expect(partition: Partition, message: OutgoingMessage, dueMs: number): void {
    if (!partition.lost) this.expectIn(this.windowOf(partition, message), dueMs);
  }

  expectIn(window: Window, dueMs: number): void {
    window.readAtMs = Math.min(window.readAtMs, Math.max(dueMs, window.notBeforeMs));
    if (dueMs <= window.readUpToMs) window.fullAtMs = 0;
    this.unread.add(window);
  }

  /** The next in order, at most so many; they stay in hand until `letGo` or `putBack`. */
  take(way: string, max: number, kind?: MessageClass): Entry[] {
    const taken: Entry[] = [];
    while (taken.length < max) {
      const entry = this.waiting.next(way, kind);
      if (!entry) break;
      if (this.isHeld(entry)) this.evict(entry);
      else if (!this.waiting.restrain(entry, way)) {
        this.leaveWindow(entry);
        taken.push(entry);
      }
    }
    return taken;
  }

  /** They were taken and did not leave: to the front of their flows. */
  putBack(entries: readonly Entry[]): void {
    const returned: Entry[] = [];
    for (const entry of entries) {
      if (entry.partition.lost || entry.state === 'gone') this.depart(entry);
      else {
        this.join(this.windowOf(entry.partition, entry.message), entry);
        returned.push(entry);
      }
    }
    this.waiting.putBack(returned);
  }

  /** From here on the table alone knows these. */
  letGo(entries: Iterable<Entry>): void {
    for (const entry of entries) this.depart(entry);
  }

  /** Marks messages that another process was handing over when it ended: they are on their way already. */
  claim(partition: Partition, messages: readonly OutgoingMessage[]): Entry[] {
    return messages.map((message) => {
      const known = this.inHand.get(message.id);
      if (known?.state === 'waiting') this.drop([message.id]);
      const entry: Entry = {
        message,
        partition,
        window: undefined,
        state: 'taken',
        stays: false,
        admitted: true,
        charged: false,
        grantedBy: undefined,
      };
      this.inHand.set(message.id, entry);
      return entry;
    });
  }

  /** Removes messages that wait; those on their way stay, and a reading under way brings none of them in. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) {
      const entry = this.inHand.get(id);
      if (!entry) this.tellDeparted(id);
      else if (entry.state === 'waiting') this.depart(entry);
    }
  }

  dropPartition(partition: Partition): void {
    for (const entry of this.inHand.values()) {
      if (entry.partition === partition && entry.state === 'waiting') this.depart(entry);
    }
    for (const window of [...this.windows.values()]) if (window.partition === partition) this.forget(window);
  }

  idsWaiting(partition: Partition): string[] {
    return [...this.inHand.values()]
      .filter((entry) => entry.partition === partition && entry.state === 'waiting')
      .map(({ message }) => message.id);
  }

  idsOf(partition: Partition, flows: ReadonlySet<number>): string[] {
    return [...this.inHand.values()]
      .filter((entry) => entry.partition === partition && flows.has(entry.message.flow))
      .map(({ message }) => message.id);
  }

  /** A message on its way to the provider. */
  taken(id: string): Entry | undefined {
    const entry = this.inHand.get(id);
    return entry?.state === 'taken' ? entry : undefined;
  }

  has(id: string): boolean {
    return this.inHand.has(id);
  }

  /** Messages that leave the hand from now on: what a query under way saw of them is out of date. */
  watch(): { departed: ReadonlySet<string>; end(): void } {
    const departed = new Set<string>();
    this.watchers.add(departed);
    return { departed, end: () => this.watchers.delete(departed) };
  }

  /** Routes or accounts have changed: what waits is sorted anew, each flow in its order. */
  reroute(): void {
    this.waiting.reroute();
    for (const window of this.windows.values()) {
      if (window.staying === 0) continue;
      window.staying = 0;
      window.stayingAt.clear();
      // More of them may be in the table.
      this.fallBehind(window, ANY_TIME);
    }
    for (const entry of this.inHand.values()) {
      if (!entry.window) continue;
      entry.window.way = this.deps.wayOf(entry.message);
      this.markStaying(entry.window, entry);
    }
    this.shares.clear();
    for (const { window, message } of this.inHand.values()) {
      if (window) this.shares.addBytes(window.way, message.size);
    }
    for (const { way } of this.windows.values()) this.shares.addFlows(way, 1);
  }

  isHeld({ message }: Entry): boolean {
    return this.deps.holds.isHeld(message);
  }

  /** Held messages wait in the table and not in memory, because there may be many. */
  evict(entry: Entry): void {
    // Before it departs, so that the window is not forgotten with its last message.
    if (entry.window) this.fallBehind(entry.window, ANY_TIME);
    this.depart(entry);
  }

  isHeldWindow({ key, confirmsOptOut }: Window): boolean {
    return this.deps.holds.isHeld({ ...key, confirmsOptOut });
  }

  /** How many more of the flow are worth having in memory, beside those that stay with an account which takes nothing. */
  roomOf(window: Window): number {
    return Math.max(0, this.sizeOf(window) - window.count + window.staying);
  }

  /** A flow's share of memory. A few flows have large shares; many have enough for some turns of each. */
  sizeOf({ channel, way, key, flow, count, staying }: Window): number {
    if (this.shares.bytesOf(way) > LIMITS.queuedBytes) return count === staying ? 1 : 0;
    const flows = this.shares.flowsOf(way);
    const share =
      key.class === 'transactional'
        ? LIMITS.queuedTransactional
        : Math.max(LIMITS.queuedPerFlowMin, Math.floor(LIMITS.queuedMessages / flows));
    const sent = {
      id: '',
      workspaceId: key.workspaceId,
      channel,
      from: key.sender,
      segments: undefined,
      flow,
    };
    const sender = this.deps.limits.keyOf(sent);
    if (sender === undefined) return share;
    const waiting = this.waiting.waitingOf(sender, way);
    const max = this.deps.limits.queueMax(sender) ?? share;
    return Math.min(share, Math.max(waiting === 0 ? 1 : 0, max - waiting + count));
  }

  windowOf(partition: Partition, message: OutgoingMessage): Window {
    const id = `${partition.id}/${message.flow}`;
    const known = this.windows.get(id);
    if (known) return known;
    const window = newWindow(partition, message, this.deps.wayOf(message));
    this.windows.set(id, window);
    this.shares.addFlows(window.way, 1);
    return window;
  }

  allWindows(): Iterable<Window> {
    return this.windows.values();
  }

  /** A flow of which nothing is left, in memory or in the table as far as is known. */
  forgetIfIdle(window: Window): void {
    if (window.count === 0 && !window.reading && !window.behind && !this.unread.has(window))
      this.forget(window);
  }

  private fallBehind(window: Window, dueMs: number): void {
    window.behind = true;
    if (!this.isHeldWindow(window)) this.expectIn(window, dueMs);
  }

  private forget(window: Window): void {
    this.unread.delete(window);
    const id = `${window.partition.id}/${window.flow}`;
    if (this.windows.get(id) !== window) return;
    this.windows.delete(id);
    this.shares.addFlows(window.way, -1);
  }

  private enter(window: Window, message: OutgoingMessage): void {
    const entry: Entry = {
      message,
      partition: window.partition,
      window,
      state: 'waiting',
      stays: false,
      admitted: false,
      charged: false,
      grantedBy: undefined,
    };
    this.inHand.set(message.id, entry);
    this.join(window, entry);
    this.waiting.add(entry);
  }

  private join(window: Window, entry: Entry): void {
    entry.window = window;
    entry.state = 'waiting';
    entry.admitted = false;
    window.count += 1;
    this.markStaying(window, entry);
    this.shares.addBytes(window.way, entry.message.size);
  }

  private leaveWindow(entry: Entry): void {
    const { window } = entry;
    if (!window) return;
    entry.window = undefined;
    entry.state = 'taken';
    spendGrant(entry);
    window.count -= 1;
    if (entry.stays) window.staying -= 1;
    entry.stays = false;
    if (window.staying === 0) window.stayingAt.clear();
    this.shares.addBytes(window.way, -entry.message.size);
    this.forgetIfIdle(window);
  }

  private markStaying(window: Window, entry: Entry): void {
    const { boundTo } = entry.message;
    entry.stays = boundTo !== undefined && this.deps.isOut(this.deps.wayOf(entry.message));
    if (boundTo === undefined || !entry.stays) return;
    window.staying += 1;
    window.stayingAt.add(boundTo);
  }

  /** A queue may still hold it, and passes it over. */
  private depart(entry: Entry): void {
    this.leaveWindow(entry);
    entry.state = 'gone';
    if (entry.charged) this.deps.onUnused(entry);
    if (this.inHand.get(entry.message.id) !== entry) return;
    this.inHand.delete(entry.message.id);
    this.tellDeparted(entry.message.id);
  }

  private tellDeparted(id: string): void {
    for (const departed of this.watchers) departed.add(id);
  }
}

/** The time of a message that may have been due for long. */
export const ANY_TIME = 0;
