import { databaseNow } from '../../../domain/database-clock';
import { LIMITS } from '../../../domain/limits';
import type { Foreground } from '../../../foreground';
import type { HandOver, HandOverResult } from '../../../providers/provider';
import type { OutgoingMessage } from '../../model/outgoing';
import type { Holds } from '../queue/holds';
import type { MessageClass } from '../queue/outbox-count';
import type { OutboxQueue } from '../queue/outbox-queue';
import type { Partition } from '../queue/partitions';
import type { Entry } from '../queue/window';
import { type GroupOpener, isExpired } from './opener';
import type { ProviderLimiter } from './provider-limiter';
import type { Leaving, Recorder } from './recorder';

const TROUBLE_PAUSE_MS = 500;
/** Groups that are being opened at once: one is with the database while the next one is rendered. */
const OPENINGS_MAX = 2;
/** The provider's speed is computed from the answers of so many intervals. */
const RATE_INTERVAL_MS = 100;

interface Deps {
  /** One account on one channel (carriers.ts). */
  way: string;
  limiter: ProviderLimiter;
  queue: OutboxQueue;
  opener: GroupOpener;
  recorder: Recorder;
  holds: Holds;
  /** Marketing messages wait while its requests are late. */
  foreground?: Foreground | undefined;
  /** The account's carrier refuses the message's sender. */
  isClosed(message: OutgoingMessage): boolean;
  /** Something changed: room with the provider, or what waits. */
  wake(): void;
  /** These came back to the queue, or are known to the table alone from now on. */
  onOpened(outcome: { partition: Partition; back: readonly Entry[]; gone: readonly Entry[] }): void;
}

/**
 * The messages of one account and channel on their way from the queue to the provider: taken in fair order, opened in groups, handed
 * over as the provider has places, recorded as the answers come. Little is opened ahead of the provider's
 * places, because what is opened has left the queue's order and is in doubt after a crash.
 */
export class ChannelDelivery {
  private readonly way: string;
  /** Opened, and waiting for a place with the provider; transactional ones first. */
  private readonly waiting: Record<MessageClass, Leaving[]> = { transactional: [], marketing: [] };
  private openings = 0;
  private opening = 0;
  /** By the monotonic clock, like every moment that is waited from: one that is set back would hold up what waits. */
  private openedAtMs = 0;
  private inFlight = 0;
  private calls = 0;
  private answered = 0;
  private rate = 0;
  private rateAtMs = 0;
  private attended: (() => void) | undefined;
  private stopping = false;

  constructor(private readonly deps: Deps) {
    this.way = deps.way;
  }

  isOpen(nowMs: number): boolean {
    return this.deps.limiter.pausedUntilMs <= nowMs;
  }

  /** Nothing is opened, waits for a place or is with the provider. */
  get isIdle(): boolean {
    return this.opening + this.waitingCount() + this.inFlight === 0;
  }

  /** Opens and hands over what may leave now, and answers when to ask again. */
  pump(nowMs: number): number {
    const { limiter, queue } = this.deps;
    this.feed();
    if (this.stopping) return Number.POSITIVE_INFINITY;
    if (!this.isOpen(nowMs)) return limiter.pausedUntilMs;
    this.measure(nowMs);
    while (this.openings < OPENINGS_MAX) {
      const paced = limiter.pace?.available(nowMs) ?? LIMITS.handoverBatch;
      if (limiter.pace && paced <= 0) return limiter.pace.nextAtMs(nowMs);
      // Marketing messages let late requests pass.
      const aside = this.deps.foreground?.mustWait() ?? false;
      const plain = aside ? 0 : Math.min(paced, LIMITS.handoverBatch, this.room());
      // Transactional messages have places of their own, which marketing messages cannot take.
      const kind = plain > 0 ? undefined : ('transactional' as const);
      const max = plain > 0 ? plain : Math.min(paced, LIMITS.handoverBatch, this.room('transactional'));
      const ready = queue.waiting.readyCount(this.way, kind);
      if (max <= 0 || ready === 0) return aside ? nowMs + LIMITS.foregroundLookMs : Number.POSITIVE_INFINITY;
      const lingerMs = this.lingerMs(Math.min(ready, max));
      if (lingerMs > 0) return nowMs + lingerMs;
      const entries = queue.take(this.way, max, kind);
      if (entries.length === 0) break;
      limiter.pace?.take(entries.length);
      for (const [partition, ofPartition] of byPartition(entries)) void this.open(partition, ofPartition);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Messages of a group that is open already, because the process that opened it is gone. */
  handOverAgain(leaving: readonly Leaving[]): void {
    for (const one of leaving) this.waiting[one.message.class].push(one);
    this.attend();
    this.feed();
  }

  /** Opens nothing more; what waits for a place stays. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.feed();
    while (this.openings > 0 || this.inFlight > 0 || this.waitingCount() > 0) {
      await new Promise((done) => setTimeout(done, 10));
      this.feed();
    }
  }

  /** How many more messages may be opened. */
  private room(kind?: MessageClass): number {
    const { limiter, recorder } = this.deps;
    if (recorder.count > LIMITS.recordBacklog) return 0;
    const { answersEach, parallel } = limiter.provider.capabilities;
    // While the carrier refuses our account, one message at a time finds out whether it still does.
    if (limiter.isTrying) return this.opening + this.waitingCount() + this.inFlight > 0 ? 0 : 1;
    if (!answersEach) {
      const lots = this.calls + this.openings + Math.ceil(this.waitingCount() / limiter.batchSize);
      return lots < LIMITS.handoversInFlight + (kind ? 1 : 0) ? limiter.batchSize : 0;
    }
    const outstanding = this.opening + this.waitingCount() + this.inFlight;
    const reserve = kind ? Math.max(1, Math.ceil(parallel * LIMITS.transactionalReserve)) : 0;
    return this.windowSize() + reserve - outstanding;
  }

  /** Opened and unanswered messages at once: the provider's places, and what it answers while a group is opened. */
  private windowSize(): number {
    const { limiter } = this.deps;
    if (limiter.batchSize < limiter.sizeMax) return limiter.batchSize;
    const ahead = Math.ceil((this.rate * LIMITS.openAheadMs) / RATE_INTERVAL_MS);
    return this.places() + Math.min(LIMITS.handoverBatch, ahead);
  }

  private places(): number {
    const { limiter } = this.deps;
    const { batchMax, parallel } = limiter.provider.capabilities;
    const places = Math.max(parallel, Math.min(batchMax, LIMITS.handoverBatch));
    return limiter.isCareful ? Math.min(places, LIMITS.carefulHandovers) : places;
  }

  /** An idle channel opens at once; a busy one gathers, because a statement for 100 costs little more than for 10. */
  private lingerMs(count: number): number {
    const { limiter } = this.deps;
    const enough = limiter.provider.capabilities.answersEach ? this.windowSize() / 4 : limiter.batchSize;
    if (count >= Math.min(enough, LIMITS.recordResults)) return 0;
    return Math.max(0, this.openedAtMs + LIMITS.handoverLingerMs - performance.now());
  }

  private async open(partition: Partition, entries: readonly Entry[]): Promise<void> {
    const { limiter, opener, onOpened, wake } = this.deps;
    this.openings += 1;
    this.opening += entries.length;
    this.openedAtMs = performance.now();
    const outcome = await opener.open(partition, entries);
    this.openings -= 1;
    this.opening -= entries.length;
    if (outcome.isHindered) {
      limiter.pausedUntilMs = Math.max(limiter.pausedUntilMs, Date.now() + TROUBLE_PAUSE_MS);
    }
    limiter.pace?.take(-outcome.back.length - outcome.gone.length);
    onOpened({ partition, back: outcome.back, gone: outcome.gone });
    for (const one of outcome.leaving) this.waiting[one.message.class].push(one);
    if (outcome.leaving.length > 0) this.attend();
    this.feed();
    wake();
  }

  /** Gives the provider what it has places for. */
  private feed(): void {
    if (this.waitingCount() === 0) return;
    const { limiter } = this.deps;
    if (this.stopping || limiter.pausedUntilMs > Date.now()) {
      this.sendBack();
      return;
    }
    if (limiter.provider.capabilities.answersEach) {
      const places = Math.min(this.places(), Math.max(1, this.windowSize()));
      const reserve = limiter.isTrying ? 0 : Math.max(1, Math.ceil(places * LIMITS.transactionalReserve));
      for (let one = this.next(places, reserve); one; one = this.next(places, reserve))
        void this.handOverOne(one);
      return;
    }
    const calls = limiter.isTrying ? 1 : LIMITS.handoversInFlight + 1;
    while (this.waitingCount() > 0 && this.calls < calls) void this.handOverLot();
  }

  private next(places: number, reserve: number): Leaving | undefined {
    if (this.inFlight < places + reserve && this.waiting.transactional.length > 0) {
      return this.waiting.transactional.shift();
    }
    return this.inFlight < places ? this.waiting.marketing.shift() : undefined;
  }

  private async handOverOne(leaving: Leaving): Promise<void> {
    if (!this.mayLeave(leaving)) return this.settled([leaving], [STAYED]);
    this.inFlight += 1;
    const result = await this.deps.limiter.handOverOne(leaving.handOver, () => this.mayLeave(leaving));
    this.inFlight -= 1;
    this.settled([leaving], [result]);
    this.feed();
  }

  private async handOverLot(): Promise<void> {
    const { limiter } = this.deps;
    const { transactional, marketing } = this.waiting;
    const lot = transactional.splice(0, limiter.sizeMax);
    lot.push(...marketing.splice(0, limiter.sizeMax - lot.length));
    const may = lot.filter((one) => this.mayLeave(one));
    this.calls += 1;
    this.inFlight += lot.length;
    const byId = new Map(may.map((one) => [one.message.id, one]));
    const results = await limiter.handOver(
      may.map(({ handOver }) => handOver),
      ({ id }: HandOver) => {
        const one = byId.get(id);
        return one !== undefined && this.mayLeave(one);
      },
    );
    this.calls -= 1;
    this.inFlight -= lot.length;
    const stayed = lot.filter((one) => !byId.has(one.message.id));
    this.settled([...may, ...stayed], [...results, ...stayed.map(() => STAYED)]);
  }

  /** Nothing leaves for now: they go back to the queue, as messages that were not tried. */
  private sendBack(): void {
    const all = [...this.waiting.transactional.splice(0), ...this.waiting.marketing.splice(0)];
    this.settled(
      all,
      all.map(() => STAYED),
    );
  }

  private settled(leaving: readonly Leaving[], results: readonly HandOverResult[]): void {
    this.answered += leaving.length;
    leaving.forEach((one, i) => {
      this.deps.recorder.add(one, results[i] ?? { kind: 'unknown' });
    });
    if (this.inFlight + this.waitingCount() === 0) {
      this.attended?.();
      this.attended = undefined;
    }
    this.deps.wake();
  }

  /** Asked right before the carrier is given the message: memory only. */
  private mayLeave({ message, group: { partition } }: Leaving): boolean {
    if (this.stopping || partition.lost || performance.now() >= partition.leaseEndsAt) return false;
    if (isExpired(message, databaseNow())) return false;
    return !this.deps.holds.isHeld(message) && !this.deps.isClosed(message);
  }

  /** While messages are on their way, holds and stops of other processes are looked up. */
  private attend(): void {
    this.attended ??= this.deps.holds.attend();
  }

  private waitingCount(): number {
    return this.waiting.transactional.length + this.waiting.marketing.length;
  }

  private measure(nowMs: number): void {
    const sinceMs = nowMs - this.rateAtMs;
    if (sinceMs < RATE_INTERVAL_MS) return;
    const now = (this.answered * RATE_INTERVAL_MS) / sinceMs;
    this.rate = sinceMs > 10 * RATE_INTERVAL_MS ? now : Math.max(now, this.rate / 2);
    this.answered = 0;
    this.rateAtMs = nowMs;
  }
}

export const STAYED: HandOverResult = { kind: 'stayed' };

function byPartition(entries: readonly Entry[]): Map<Partition, Entry[]> {
  const partitions = new Map<Partition, Entry[]>();
  for (const entry of entries) {
    const ofPartition = partitions.get(entry.partition);
    if (ofPartition) ofPartition.push(entry);
    else partitions.set(entry.partition, [entry]);
  }
  return partitions;
}
