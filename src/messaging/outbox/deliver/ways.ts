import type { AccountState } from '../../../domain/account';
import { CHANNELS, type Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import type { Routed } from '../../../domain/route';
import type { Log } from '../../../log';
import type { PausesElsewhere } from '../../carriers/account-pauses';
import { defaultWayOf, type Way } from '../../carriers/carriers';
import type { Window } from '../queue/window';
import type { ChannelDelivery } from './channel-delivery';
import type { ProviderLimiter, RefusedBefore } from './provider-limiter';
import type { Recorder } from './recorder';

/** An account's way on one channel: to the provider and into the table. */
export interface ChannelWay {
  id: string;
  limiter: ProviderLimiter;
  delivery: ChannelDelivery;
  recorder: Recorder;
}

/**
 * The ways by which messages leave this process (decision 41). Those of the channels' default accounts are there from
 * the start to the end; others come and go.
 */
export class Ways {
  private readonly ways = new Map<string, ChannelWay>();
  /** Accounts that are gone, and still have messages with their carrier. */
  private readonly leaving = new Set<Promise<void>>();
  /** Accounts that were refused when they were closed: a change of ours does not mean that the carrier takes messages again. */
  private readonly refused = new Map<string, RefusedBefore>();

  constructor(
    private readonly deps: {
      wayOf(message: Routed): string;
      open(way: Way, before: RefusedBefore | undefined): ChannelWay;
      /** A refused account is tried now. What it refused may be found in the table once `recorded` is over. */
      onProbe(recorded?: Promise<void>): void;
      log: Log;
    },
  ) {}

  /** Replaces the way of that id, if there is one. */
  add(way: Way): void {
    this.remove(way.id);
    const before = this.refused.get(way.id);
    this.refused.delete(way.id);
    this.ways.set(way.id, this.deps.open(way, before));
    if (before && !before.isLed) this.deps.onProbe();
  }

  /**
   * Waiting messages go back to the queue. The provider is closed when it has answered for the messages that
   * it has.
   */
  remove(id: string): void {
    const way = this.ways.get(id);
    if (!way) return;
    this.ways.delete(id);
    this.remember(id, way.limiter.refused);
    const work = close(way).catch((error: unknown) =>
      this.deps.log.error({ err: error, way: id }, 'An account could not be closed'),
    );
    this.leaving.add(work);
    void work.finally(() => this.leaving.delete(work));
  }

  private remember(id: string, before: RefusedBefore | undefined): void {
    if (!before) return;
    const [oldest] = this.refused.keys();
    // Deleted accounts never come back for theirs.
    if (this.refused.size >= LIMITS.accounts && oldest !== undefined) this.refused.delete(oldest);
    this.refused.set(id, before);
  }

  has(id: string): boolean {
    return this.ways.has(id);
  }

  /** Whether messages may leave by it now. */
  takes(id: string): boolean {
    return this.ways.get(id)?.delivery.isOpen(Date.now()) ?? false;
  }

  all(): IterableIterator<ChannelWay> {
    return this.ways.values();
  }

  of(channel: Channel): ChannelWay[] {
    return [...this.ways.values()].filter(({ limiter }) => limiter.channel === channel);
  }

  isOneOfSeveral(channel: Channel): boolean {
    return this.ways.size > CHANNELS.length && this.of(channel).length > 1;
  }

  default(channel: Channel): ChannelWay {
    return this.ways.get(defaultWayOf({ channel })) as ChannelWay;
  }

  /** By what a provider is called in the table. */
  called(provider: string, channel: Channel): ChannelWay | undefined {
    return this.of(channel).find(({ limiter }) => limiter.provider.name === provider);
  }

  /** Whether a way certainly takes nothing now. */
  isDown(id: string): boolean {
    return this.ways.get(id)?.limiter.isDown(Date.now()) ?? false;
  }

  /** Ids of those that are down. */
  down(nowMs: number): string[] {
    if (this.ways.size <= CHANNELS.length) return [];
    return [...this.ways.values()].filter(({ limiter }) => limiter.isDown(nowMs)).map(({ id }) => id);
  }

  /**
   * Whether it is time to find out if a way is still down, and none of its messages is under way, whose
   * answer would show it.
   */
  wantsProbe(id: string, nowMs: number): boolean {
    const way = this.ways.get(id);
    return way !== undefined && way.limiter.pausedUntilMs <= nowMs && way.delivery.isIdle;
  }

  /** How the account stands by which a message is to leave. */
  accountFor(message: Routed): AccountState | undefined {
    return this.ways.get(this.deps.wayOf(message))?.limiter.account;
  }

  /**
   * A window without messages says nothing of where those in the table go: one of them may have an open way. Nor does one
   * whose way is down or gone, because what it has in memory may be only what stays with that account.
   */
  isOpen({ way, channel, count }: Window, nowMs: number): boolean {
    if (this.ways.get(way)?.delivery.isOpen(nowMs)) return true;
    if (count > 0 && this.ways.has(way) && !this.isDown(way)) return false;
    return this.of(channel).some(({ delivery }) => delivery.isOpen(nowMs));
  }

  shareWith(processes: number): void {
    for (const { limiter } of this.ways.values()) limiter.pace?.shareWith(processes);
  }

  /** An owner may have put the account right. */
  probe(accountId: string): void {
    for (const { limiter, recorder } of this.ways.values()) {
      if (limiter.account.account !== accountId) continue;
      limiter.probe();
      if (limiter.refused) this.deps.onProbe(recorder.idle());
    }
  }

  /** What processes know of accounts that they hand nothing over by. */
  onPausesElsewhere({ isLed, asked }: PausesElsewhere): void {
    for (const [id, { limiter, recorder }] of this.ways) {
      if (!limiter.refused) continue;
      const beforeMs = limiter.pausedUntilMs;
      limiter.follow(isLed(id, limiter.stateSinceMs));
      if (asked.has(id)) limiter.probe();
      if (limiter.pausedUntilMs < beforeMs) this.deps.onProbe(recorder.idle());
    }
  }

  /** Opens nothing more; resolves when all that was with a provider is recorded. */
  async finish(): Promise<void> {
    const ways = [...this.ways.values()];
    await Promise.all(ways.map(({ delivery }) => delivery.stop()));
    await Promise.all(ways.map(({ recorder }) => recorder.idle()));
    await Promise.all(this.leaving);
  }

  giveUp(): void {
    for (const { recorder } of this.ways.values()) recorder.giveUp();
  }

  async closeProviders(): Promise<void> {
    for (const { limiter } of this.ways.values()) await limiter.provider.close();
  }
}

async function close({ delivery, recorder, limiter }: ChannelWay): Promise<void> {
  await delivery.stop();
  await recorder.idle();
  await limiter.provider.close();
}
