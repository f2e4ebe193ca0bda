import type { Kysely } from 'kysely';
import { rateOf } from '../../domain/account';
import { LIMITS } from '../../domain/limits';
import type { Routed } from '../../domain/route';
import type { Foreground } from '../../foreground';
import type { Log } from '../../log';
import type { HandOverResult } from '../../providers/provider';
import type { Way } from '../carriers/carriers';
import type { SenderRefusal } from '../carriers/closed-senders';
import type { AttemptResult } from '../model/attempt-result';
import { type DeliveryObserver, type MessageTraces, tellMoves } from '../model/observer';
import type { OutgoingMessage } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';
import type { SenderLimits } from '../senders/sender-limits';
import type { TemplateVersions } from '../templates/template-versions';
import { ChannelDelivery, STAYED } from './deliver/channel-delivery';
import type { Recorded } from './deliver/groups';
import type { ListUnsubscribe } from './deliver/list-unsubscribe';
import { asExpired, GroupOpener } from './deliver/opener';
import { createProviderLimiter, type RefusedBefore } from './deliver/provider-limiter';
import { type Leaving, Recorder } from './deliver/recorder';
import { recoverGroups } from './deliver/recover';
import { throttledSenders } from './deliver/throttling';
import { type ChannelWay, Ways } from './deliver/ways';
import { Admission } from './queue/admission';
import { DuePoller } from './queue/due-poller';
import { ExpiringMessages } from './queue/expire-waiting';
import type { Holds } from './queue/holds';
import type { OutboxCount } from './queue/outbox-count';
import { ANY_TIME, OutboxQueue } from './queue/outbox-queue';
import type { Partition, Partitions } from './queue/partitions';
import type { Entry } from './queue/window';

/**
 * Accepted messages on their way to the providers. A message that is due is in exactly one place:
 *
 *   queue   in memory of this process, in fair order (queue/outbox-queue.ts)
 *   group   named by an open hand-over group, of this process or of one that is gone (deliver/groups.ts)
 *   table   anywhere else: later, held, retried, or beyond memory's window (queue/due-poller.ts)
 */
export interface OutboxEvents {
  /** Events of the workspace were written. */
  onEvents(workspaceId: string): void;
  /** These are recorded as handed over; receipts that came too early can be taken up. */
  onHandedOver(provider: string, attemptResults: readonly AttemptResult[]): Promise<void>;
  /** Another process had settled these before their results came. */
  onLate(provider: string, attemptResults: readonly AttemptResult[]): void;
}

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  listUnsubscribe?: ListUnsubscribe | undefined;
  /** By which account a message leaves: the id of one of the ways, or NO_WAY while it has none. */
  wayOf(message: Routed): string;
  /** The same if every account were up. */
  preferredWayOf(message: Routed): string;
  /** A carrier refuses a sender at one account. */
  closeSender(refusal: SenderRefusal): void;
  /** Whether it does so already. */
  isClosed(accountId: string, message: Pick<Routed, 'channel' | 'from'>): boolean;
  partitions: Partitions;
  holds: Holds;
  limits: SenderLimits;
  outbox: OutboxCount;
  observer?: DeliveryObserver | undefined;
  traces?: MessageTraces | undefined;
  foreground?: Foreground | undefined;
  log: Log;
  events: OutboxEvents;
  /** An account is refused from now on, or no longer. */
  onDown?(): void;
}

/** Longest sleep of the one timer; clocks may be set meanwhile. */
const SLEEP_MAX_MS = 30_000;

export class Dispatcher {
  private readonly queue: OutboxQueue;
  private readonly admission: Admission;
  private readonly poller: DuePoller;
  readonly ways: Ways;
  private readonly expiring: ExpiringMessages;
  private readonly recovering = new Set<Promise<void>>();
  /** Ids of the ways that were down when last looked at. */
  private down: readonly string[] = [];
  private running = false;
  private woken = false;
  private timer: NodeJS.Timeout | undefined;
  readonly wake = (): void => {
    // However much happens in one turn of the event loop, the queue is looked at once.
    if (this.woken || !this.running) return;
    this.woken = true;
    setImmediate(() => {
      this.woken = false;
      if (this.running) this.pump();
    });
  };

  constructor(private readonly deps: Deps) {
    const { db, holds, limits, partitions, log } = deps;
    const isOut = (way: string) => !this.ways.has(way) || this.down.includes(way);
    const onUnused = (entry: Entry) => this.admission.giveBackSoon(entry);
    this.queue = new OutboxQueue({ limits, holds, wayOf: deps.wayOf, isOut, onUnused });
    const isOpen = (way: string) => this.ways.takes(way);
    this.admission = new Admission({ queue: this.queue, limits, log, isOpen, wake: this.wake });
    this.poller = new DuePoller({ db, queue: this.queue, log, wake: this.wake });
    this.ways = new Ways({
      ...{ wayOf: deps.wayOf, log },
      open: (way, before) => this.openWay(way, before),
      onProbe: (recorded) => void this.poller.bringForward(partitions.all(), recorded),
    });
    this.expiring = new ExpiringMessages({
      ...{ db, queue: this.queue, partitions, log },
      recordExpired: async (partition, messages) => {
        const [first] = messages;
        if (!first) return;
        await this.ways.default(first.channel).recorder.record(messages.map(asExpired), { partition });
      },
      letGo: (entries) => this.letGo(entries),
    });
  }

  /** Accounts or routes have changed: messages may have another way than before. */
  rerouted(): void {
    this.queue.reroute();
    this.wake();
  }

  /** These are in the table, due since then. */
  offer(partition: Partition, messages: readonly OutgoingMessage[], dueMs: number): void {
    if (partition.lost) return;
    this.queue.offer(partition, messages, dueMs);
    this.wake();
  }

  /** A message is in the table, due then. */
  expect(partition: Partition, message: OutgoingMessage, dueMs: number): void {
    this.queue.expect(partition, message, dueMs);
    this.wake();
  }

  /** A message waits in the table of which this process may not know. */
  lookFor(partition: Partition, id: string): void {
    if (this.queue.has(id)) return;
    this.poller.lookUp(partition);
    this.wake();
  }

  /** Something may have become sendable that was not: look in the table. */
  lookAgain(): void {
    this.poller.lookAgain(this.deps.partitions.all());
  }

  /** Senders may have gained or lost a limit, or may send on sooner than was promised. */
  limitsChanged(): void {
    this.admission.resumeAll();
    this.wake();
  }

  adoptPartition(partition: Partition): void {
    // Nothing is read from the partition before its open groups are in hand.
    const ready = () => {
      partition.isReadable = !partition.lost;
      this.poller.lookUp(partition);
      this.wake();
    };
    const { db, templates, listUnsubscribe, partitions, holds, limits, log } = this.deps;
    const { queue, ways } = this;
    const isRunning = () => this.running;
    const work = recoverGroups(
      { db, templates, listUnsubscribe, queue, partitions, holds, limits, ways, log, isRunning },
      partition,
      ready,
    );
    this.recovering.add(work);
    void work.finally(() => this.recovering.delete(work));
  }

  closePartition(partition: Partition): void {
    this.poller.close(partition);
    this.queue.dropPartition(partition);
  }

  /** This process canceled the message; `cancels` is the partition's count since then. */
  canceled(partitionId: string, id: string, cancels: number): void {
    this.queue.drop([id]);
    const partition = [...this.deps.partitions.all()].find((one) => one.id === partitionId);
    if (partition?.cancels === cancels - 1) partition.cancels = cancels;
  }

  start(): void {
    this.running = true;
    this.expiring.start();
    this.wake();
  }

  /** Opens no more groups and waits for those under way, but not for ever. */
  async stop(withinMs: number): Promise<void> {
    this.running = false;
    this.expiring.stop();
    clearTimeout(this.timer);
    let giveUp: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((done) => {
      giveUp = setTimeout(done, withinMs);
    });
    const finished = Promise.allSettled(this.recovering).then(() => this.ways.finish());
    await Promise.race([finished, timeout]);
    clearTimeout(giveUp);
    this.ways.giveUp();
  }

  /** On its way to the provider, or back and not recorded yet. */
  isUnderWay(messageId: string): boolean {
    return this.queue.taken(messageId) !== undefined;
  }

  private pump(): void {
    const now = Date.now();
    this.lookAtAccounts(now);
    let nextAtMs = Math.min(now + SLEEP_MAX_MS, this.admission.pump(now));
    for (const { delivery } of this.ways.all()) nextAtMs = Math.min(nextAtMs, delivery.pump(now));
    const readAtMs = this.poller.pump(now, (window) => this.ways.isOpen(window, now));
    nextAtMs = Math.min(nextAtMs, readAtMs);
    clearTimeout(this.timer);
    this.timer = setTimeout(this.wake, Math.max(1, nextAtMs - now));
    this.timer.unref();
  }

  /** Messages of an account that went down go to the next one at once, and come back when a probe is taken. */
  private lookAtAccounts(now: number): void {
    const down = this.ways.down(now);
    if (down.join() !== this.down.join()) {
      this.down = down;
      this.queue.reroute();
      this.deps.onDown?.();
    }
    for (const id of down) {
      if (!this.ways.wantsProbe(id, now)) continue;
      this.queue.waiting.sendProbe(id, (message) => this.deps.preferredWayOf(message) === id);
    }
  }

  private openWay({ id, account, provider: carrier }: Way, before: RefusedBefore | undefined): ChannelWay {
    const { db, templates, listUnsubscribe, partitions, holds, observer, log } = this.deps;
    const { queue } = this;
    const { channel, name: provider } = carrier;
    const limiter = createProviderLimiter(channel, carrier, log, observer, {
      id: account.id,
      // What would only wait at the vendor waits here, where it can be held and taken back.
      ratePerSecond: rateOf(account, channel),
      ...{ traces: this.deps.traces, before },
      probeMaxMs: account.source === 'api' ? LIMITS.accountProbeMs : undefined,
      sharesChannel: () => this.ways.isOneOfSeveral(channel),
    });
    const recorder = new Recorder({
      ...{ db, provider, partitions, log },
      classifyResults: (leaving, results) => this.classifyResults({ id, limiter }, leaving, results),
      onRecorded: (results) => this.recorded(limiter.provider.name, results),
      onNotOurs: (results) => this.notOurs(results),
    });
    const opener = new GroupOpener({
      ...{ db, templates, listUnsubscribe, partitions, holds, queue, recorder, provider, log },
    });
    const { foreground } = this.deps;
    const delivery = new ChannelDelivery({
      ...{ way: id, limiter, queue, opener, recorder, holds, foreground, wake: this.wake },
      isClosed: (message) => this.deps.isClosed(account.id, message),
      onOpened: ({ back, gone }) => {
        this.putBack(back);
        this.letGo(gone);
      },
    });
    return { id, limiter, delivery, recorder };
  }

  /** What the results mean for the channel and for its senders. */
  private classifyResults(
    { id, limiter }: Pick<ChannelWay, 'id' | 'limiter'>,
    leaving: readonly Leaving[],
    results: readonly HandOverResult[],
  ): readonly HandOverResult[] {
    const { limits, log } = this.deps;
    const handOvers = leaving.map(({ handOver }) => handOver);
    // Where there are other accounts, only this one waits (provider-limiter.ts).
    const silent = this.ways.isOneOfSeveral(limiter.channel) ? [] : throttledSenders(handOvers, results);
    for (const { sender, delayMs } of silent) {
      const one = leaving.find(({ message }) => message.from === sender);
      if (!one) continue;
      void limits.throttled(one.message, delayMs).catch((error: unknown) => {
        log.warn({ err: error }, 'Other processes do not know that a provider asked for silence');
      });
    }
    // Results that came for a whole batch were passed to the limiter when they came.
    const classified = limiter.provider.capabilities.answersEach
      ? limiter.onResults(handOvers, results)
      : results;
    return classified.map((result, i) => {
      const message = leaving[i]?.message;
      if (message && result.kind === 'sender') return this.closeSender({ id, limiter }, message, result);
      if (!message || (result.kind !== 'account' && result.kind !== 'throttled')) return result;
      // It took nothing for certain, and another account has the message now: at once, and not after a wait.
      return this.deps.wayOf(message) === id || !limiter.isDown(Date.now()) ? result : STAYED;
    });
  }

  /** It took nothing of the message, which goes to the next account at once or waits until the sender is reopened. */
  private closeSender(
    { id, limiter }: Pick<ChannelWay, 'id' | 'limiter'>,
    message: OutgoingMessage,
    result: Extract<HandOverResult, { kind: 'sender' }>,
  ): HandOverResult {
    const { channel, from } = message;
    const accountId = limiter.account.account;
    if (accountId === undefined) return result;
    this.deps.closeSender({ accountId, channel, from, code: result.code, message: result.message });
    return this.deps.wayOf(message) === id ? result : { ...result, retryAfterMs: 0 };
  }

  private putBack(entries: readonly Entry[]): void {
    void this.admission.giveBack(entries);
    this.queue.putBack(entries);
  }

  /** From here on the table alone knows these. */
  private letGo(entries: readonly Entry[]): void {
    // What was recorded meanwhile is accounted for.
    const open = entries.filter(({ state }) => state !== 'gone');
    void this.admission.giveBack(open);
    this.queue.letGo(open);
    for (const { partition, message } of open) {
      // Released while they were still in hand: what looked in the table then passed them over.
      if (!this.deps.holds.isHeld(message)) this.queue.expect(partition, message, ANY_TIME);
    }
  }

  private async recorded(provider: string, results: readonly Recorded[]): Promise<void> {
    const { observer, outbox, events, limits, log } = this.deps;
    const attemptResults = results.map(({ attemptResult }) => attemptResult);
    tellMoves(observer, attemptResults, ({ message }) => message.channel);
    const workspaceId = attemptResults[0]?.message.workspaceId ?? '';
    let hasSettled = false;
    const back: Entry[] = [];
    for (const { message, retryAtMs, keepsPlace } of attemptResults) {
      const entry = this.queue.taken(message.id);
      if (retryAtMs === undefined) {
        hasSettled = true;
        outbox.change(workspaceId, message, -1, message.dueMs);
      }
      if (keepsPlace && entry) back.push(entry);
      else this.settle(message, retryAtMs, entry);
    }
    this.putBack(back);
    if (hasSettled) events.onEvents(workspaceId);
    this.wake();
    const notCalled = attemptResults.filter(
      ({ message, state }) => message.channel === 'voice' && !mayRing(state),
    );
    const ids = notCalled.map(({ message }) => message.id);
    await limits.callsEnded(workspaceId, ids).catch((error: unknown) => {
      log.warn({ err: error }, 'Calls that were not placed still count towards sender limits');
    });
    // An early receipt may end a doubt.
    const offered = attemptResults.filter(({ state }) => state === 'sent' || state === 'unknown');
    if (offered.length === 0) return;
    // The account may be deleted; then another account's recorder has recorded the results.
    await events.onHandedOver(results[0]?.group?.provider ?? provider, offered).catch((error: unknown) => {
      log.warn({ err: error }, 'Early receipts could not be read; the next round takes them up');
    });
  }

  /** Its result is in the table. One that waits for its next try is expected only now, out of hand. */
  private settle(message: OutgoingMessage, retryAtMs: number | undefined, entry: Entry | undefined): void {
    if (!entry) return;
    // A token that was granted to it is spent.
    entry.charged = false;
    this.queue.letGo([entry]);
    if (retryAtMs !== undefined) this.queue.expect(entry.partition, message, retryAtMs);
  }

  private notOurs(results: readonly Recorded[]): void {
    const entries = results.flatMap(({ attemptResult: { message, state } }) => {
      const entry = this.queue.taken(message.id);
      if (entry && mayRing(state)) entry.charged = false;
      return entry ?? [];
    });
    for (const { partition } of entries) if (!partition.lost) this.poller.lookUp(partition);
    this.letGo(entries);
    const late = results.map(({ attemptResult }) => attemptResult);
    this.deps.events.onLate(results[0]?.group?.provider ?? '', late);
    this.wake();
  }
}

/** It may be with the carrier, so that what was granted is spent. A call's place is free when a receipt says so, or its time is over. */
const mayRing = (state: AttemptResult['state']) => state === 'sent' || state === 'unknown';
