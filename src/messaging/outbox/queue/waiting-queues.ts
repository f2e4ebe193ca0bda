import type { OutgoingMessage } from '../../model/outgoing';
import type { SenderLimits } from '../../senders/sender-limits';
import { FairQueue } from './fair-queue';
import type { MessageClass } from './outbox-count';
import { type Entry, keyOf, keyOfEntry } from './window';

/** A sender with a limit, by one way: what an account that takes nothing keeps waiting must not stand before the rest. */
export interface RestrainedSender {
  readonly key: string;
  readonly way: string;
  readonly queue: FairQueue<Entry>;
  /** True while permits are requested for some of its messages; no other message is taken until the answer comes. */
  asking: boolean;
  resumeAtMs: number;
  /** Messages that were granted a token and wait for their way. */
  unspent: number;
}

/**
 * Where a message that memory holds waits: among those of its way that could leave, in the order of fair-queue.ts; or,
 * when its sender is restrained, among those of its sender by the same way, until a token is granted for it (admission.ts).
 */
export class WaitingQueues {
  private ready = new Map<string, FairQueue<Entry>>();
  private senders = new Map<string, RestrainedSender>();
  /** Ways for which tokens were granted to messages that wait. */
  private readonly granted = new Set<string>();
  /** When a way is next looked for a probe, because none of all that waits could be one. By the monotonic clock. */
  private readonly probeAgainAt = new Map<string, number>();

  constructor(
    private readonly deps: {
      limits: Pick<SenderLimits, 'keyOf'>;
      wayOf(message: OutgoingMessage): string;
      /** A token was taken for it, and it will not leave by that. */
      onUnused(entry: Entry): void;
    },
  ) {}

  /** Messages that could leave by this way now. */
  readyCount(way: string, kind?: MessageClass): number {
    return this.readyOf(way).size(kind);
  }

  /** Behind those of its flow. */
  add(entry: Entry): void {
    this.queueOf(entry.message).push(keyOf(entry.message), entry);
  }

  /** The next in order that could leave by this way. */
  next(way: string, kind?: MessageClass): Entry | undefined {
    const ready = this.readyOf(way);
    let entry = ready.take(kind);
    while (entry?.state === 'gone') entry = ready.take(kind);
    return entry;
  }

  /** Moves it to its sender, if that one has been restrained since it waited among those that could leave. */
  restrain(entry: Entry, way: string): boolean {
    const sender = entry.admitted ? undefined : this.deps.limits.keyOf(entry.message);
    if (sender === undefined) return false;
    this.senderOf(sender, way).queue.push(keyOf(entry.message), entry);
    return true;
  }

  /** Each to the front of its flow: where it waits may have changed since it was taken out. */
  putBack(entries: readonly Entry[]): void {
    const returned = new Map<FairQueue<Entry>, Entry[]>();
    for (const entry of entries) {
      const queue = this.queueOf(entry.message);
      const ofQueue = returned.get(queue);
      if (ofQueue) ofQueue.push(entry);
      else returned.set(queue, [entry]);
    }
    for (const [queue, ofQueue] of returned) queue.putBack(ofQueue, keyOfEntry);
  }

  /** Restrained senders with messages that wait for tokens. */
  restrained(): IterableIterator<RestrainedSender> {
    return this.senders.values();
  }

  /** How many of a sender wait for tokens. */
  waitingOf(sender: string, way: string): number {
    return this.senders.get(`${way} ${sender}`)?.queue.size() ?? 0;
  }

  forgetSender({ key, way }: RestrainedSender): void {
    this.senders.delete(`${way} ${key}`);
  }

  /** Messages of a restrained sender that may leave now; without one, they need no token. */
  grant(entries: readonly Entry[], by?: RestrainedSender): void {
    for (const entry of entries) {
      entry.admitted = true;
      entry.charged = by !== undefined;
      entry.grantedBy = by;
      const way = this.deps.wayOf(entry.message);
      if (by) {
        by.unspent += 1;
        this.granted.add(way);
      }
      this.readyOf(way).push(keyOf(entry.message), entry);
    }
  }

  /**
   * Where a way takes nothing for now, what was granted to its messages is of use to others of their senders. It would grow
   * for as long as that lasts, and then leave all at once.
   */
  takeGrantsBack(isOpen: (way: string) => boolean): void {
    for (const way of this.granted) {
      if (isOpen(way)) continue;
      this.granted.delete(way);
      const entries = this.readyOf(way).remove(({ charged, state }) => charged && state === 'waiting');
      for (const entry of entries) {
        spendGrant(entry);
        this.deps.onUnused(entry);
        entry.admitted = false;
      }
      this.putBack(entries);
    }
  }

  /** One message that would have this way if it were not down goes there, to find out whether it still is. */
  sendProbe(way: string, prefers: (message: OutgoingMessage) => boolean): void {
    const beganAt = performance.now();
    if (this.readyCount(way) > 0 || beganAt < (this.probeAgainAt.get(way) ?? 0)) return;
    for (const queue of this.ready.values()) {
      const probe = queue.takeOne((entry) => entry.state !== 'gone' && prefers(entry.message));
      if (!probe) continue;
      this.readyOf(way).push(keyOf(probe.message), probe);
      return;
    }
    const tookMs = performance.now() - beganAt;
    this.probeAgainAt.set(way, beganAt + tookMs * PROBE_SHARE);
  }

  /** Routes or accounts have changed: what waits is sorted anew, each flow in its order. */
  reroute(): void {
    this.probeAgainAt.clear();
    const before = this.ready;
    this.ready = new Map();
    for (const queue of before.values()) {
      for (let entry = queue.take(); entry; entry = queue.take()) {
        if (entry.state === 'gone') continue;
        const way = this.deps.wayOf(entry.message);
        if (entry.charged) this.granted.add(way);
        this.readyOf(way).push(keyOf(entry.message), entry);
      }
    }
    const senders = this.senders;
    this.senders = new Map();
    // One that asks has its messages in hand, and puts back there those that are not granted.
    for (const [id, sender] of senders) if (sender.asking) this.senders.set(id, sender);
    for (const { queue } of senders.values()) {
      for (const entry of queue.remove(({ state }) => state !== 'gone')) this.add(entry);
    }
  }

  private queueOf(message: OutgoingMessage): FairQueue<Entry> {
    const sender = this.deps.limits.keyOf(message);
    const way = this.deps.wayOf(message);
    return sender === undefined ? this.readyOf(way) : this.senderOf(sender, way).queue;
  }

  private readyOf(way: string): FairQueue<Entry> {
    const known = this.ready.get(way);
    if (known) return known;
    const queue = new FairQueue<Entry>();
    this.ready.set(way, queue);
    return queue;
  }

  private senderOf(key: string, way: string): RestrainedSender {
    const id = `${way} ${key}`;
    const known = this.senders.get(id);
    if (known) return known;
    const sender: RestrainedSender = {
      key,
      way,
      queue: new FairQueue(),
      asking: false,
      resumeAtMs: 0,
      unspent: 0,
    };
    this.senders.set(id, sender);
    return sender;
  }
}

/** An account that is down may have no messages left for as long as it is, while others have thousands in memory. */
const PROBE_SHARE = 50;

/** It leaves with the token that was granted for it, or will not leave. */
export function spendGrant(entry: Entry): void {
  if (entry.grantedBy) entry.grantedBy.unspent -= 1;
  entry.grantedBy = undefined;
}
