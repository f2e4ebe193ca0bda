import { databaseNow } from '../../../domain/database-clock';
import type { Log } from '../../../log';
import type { OutgoingMessage } from '../../model/outgoing';
import type { SenderLimits } from '../../senders/sender-limits';
import type { OutboxQueue } from './outbox-queue';
import type { RestrainedSender } from './waiting-queues';
import type { Entry } from './window';

/** As many as one asking for tokens takes of a sender. */
const ASK_MAX = 500;
const TROUBLE_PAUSE_MS = 500;

/**
 * Lets messages of restrained senders go as their limits allow. Each sender is asked for by itself, so that nothing
 * waits behind it. A token that was granted to a message that did not leave is given back.
 */
export class Admission {
  private readonly unused: Entry[] = [];
  /** How often limits have changed: a wait that was reckoned by a former limit does not hold. */
  private changes = 0;

  constructor(
    private readonly deps: {
      queue: OutboxQueue;
      limits: Pick<SenderLimits, 'take' | 'giveBack' | 'queueMax'>;
      log: Log;
      /** Whether messages may leave by the way now: what is granted to others waits as long, and is no use to those who could. */
      isOpen(way: string): boolean;
      /** Something may be ready that was not. */
      wake(): void;
    },
  ) {}

  /** Asks for what could be granted now, and answers when the next sender may be asked again. */
  pump(nowMs: number): number {
    let nextAtMs = Number.POSITIVE_INFINITY;
    const { queue, isOpen } = this.deps;
    queue.waiting.takeGrantsBack(isOpen);
    for (const sender of queue.waiting.restrained()) {
      if (sender.asking) continue;
      if (sender.queue.size() === 0) {
        if (sender.resumeAtMs <= nowMs && sender.unspent === 0) queue.waiting.forgetSender(sender);
      } else if (!isOpen(sender.way) || this.mayAsk(sender) <= 0) continue;
      else if (sender.resumeAtMs > nowMs) nextAtMs = Math.min(nextAtMs, sender.resumeAtMs);
      else void this.ask(sender);
    }
    return nextAtMs;
  }

  /** Limits have changed: waiting senders are checked again at once. */
  resumeAll(): void {
    this.changes += 1;
    for (const sender of this.deps.queue.waiting.restrained()) sender.resumeAtMs = 0;
  }

  /**
   * A sender that gets nothing back is slower for a moment, and nothing worse. What adopted a partition may have counted the
   * same call anew, whose place must not be given back.
   */
  async giveBack(entries: readonly Entry[]): Promise<void> {
    const charged = entries.filter((entry) => entry.charged && !entry.partition.lost);
    for (const entry of entries) entry.charged = false;
    if (charged.length === 0) return;
    await this.deps.limits.giveBack(charged.map(({ message }) => message)).catch((error: unknown) => {
      this.deps.log.warn({ err: error }, 'Unused permits of a sender could not be given back');
    });
  }

  /** A hold takes many at once, which are given back together. */
  giveBackSoon(entry: Entry): void {
    if (this.unused.length === 0) queueMicrotask(() => void this.giveBack(this.unused.splice(0)));
    this.unused.push(entry);
  }

  /**
   * For how many messages. What was granted and has not left is as much as may leave within a second: a slow carrier would
   * otherwise gather more and more, and have all of it at once when it is quicker again.
   */
  private mayAsk({ key, unspent }: RestrainedSender): number {
    return Math.min(ASK_MAX, this.deps.limits.queueMax(key) ?? ASK_MAX) - unspent;
  }

  /**
   * Nothing is taken for messages whose partition may be another process's: that one may have placed their calls already, and
   * the places would be taken until their lease is over.
   */
  private async ask(sender: RestrainedSender): Promise<void> {
    const { queue, limits, log, wake } = this.deps;
    sender.asking = true;
    const { changes } = this;
    const free: Entry[] = [];
    const chargeable: Entry[] = [];
    const unsure: Entry[] = [];
    const max = this.mayAsk(sender);
    for (let entry = sender.queue.take(); entry; entry = sender.queue.take()) {
      if (entry.state === 'gone') continue;
      if (queue.isHeld(entry)) queue.evict(entry);
      // What will not leave anyway costs nothing.
      else if (isOver(entry.message)) free.push(entry);
      else if (performance.now() >= entry.partition.leaseEndsAt) unsure.push(entry);
      else chargeable.push(entry);
      if (chargeable.length >= max) break;
    }
    const turn = await limits.take(chargeable.map(({ message }) => message)).catch((error: unknown) => {
      log.warn({ err: error }, 'The limit of a sender could not be read; trying again');
      return { granted: 0, waitMs: TROUBLE_PAUSE_MS };
    });
    queue.waiting.grant(free.filter(isWaiting));
    const granted = chargeable.slice(0, turn.granted);
    const living = granted.filter(isWaiting);
    queue.waiting.grant(living, sender);
    const gone = granted.filter((entry) => !isWaiting(entry));
    for (const entry of gone) entry.charged = true;
    await this.giveBack(gone);
    const waiting = [...unsure, ...chargeable.slice(turn.granted)].filter(isWaiting);
    queue.waiting.putBack(waiting);
    const mustWait = waiting.length > 0 && changes === this.changes;
    const waitMs = unsure.length > 0 ? TROUBLE_PAUSE_MS : turn.waitMs;
    sender.resumeAtMs = mustWait ? Date.now() + waitMs : 0;
    sender.asking = false;
    wake();
  }
}

const isOver = ({ expiresAtMs }: OutgoingMessage) => expiresAtMs !== undefined && expiresAtMs < databaseNow();
const isWaiting = ({ state }: Entry) => state === 'waiting';

/** How much of memory each way takes: bytes of content, and flows that have some of their messages here. */
export class WayShares {
  private bytes = new Map<string, number>();
  private flows = new Map<string, number>();

  bytesOf(way: string): number {
    return this.bytes.get(way) ?? 0;
  }

  flowsOf(way: string): number {
    return Math.max(1, this.flows.get(way) ?? 1);
  }

  addBytes(way: string, count: number): void {
    this.bytes.set(way, this.bytesOf(way) + count);
  }

  addFlows(way: string, count: number): void {
    this.flows.set(way, (this.flows.get(way) ?? 0) + count);
  }

  clear(): void {
    this.bytes = new Map();
    this.flows = new Map();
  }
}
