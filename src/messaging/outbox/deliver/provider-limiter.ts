import type { AccountState } from '../../../domain/account';
import type { Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { HandOver, HandOverResult, MayLeave, Provider } from '../../../providers/provider';
import type { DeliveryObserver, MessageTraces } from '../../model/observer';
import { AccountBreaker, type Refusal } from './account-breaker';
import { AnswerDeadlines } from './answer-deadlines';
import { Pace } from './pace';
import { LongThrottle, throttledSenders } from './throttling';

/**
 * One channel's provider as the dispatcher sees it: how many batches are with it, how large the next
 * may be, and whether it takes any at the moment.
 */
export interface ProviderLimiter {
  readonly channel: Channel;
  readonly provider: Provider;
  readonly batchSize: number;
  /** The largest batch: below it, `batchSize` bounds what is on its way after trouble. */
  readonly sizeMax: number;
  /** The carrier was in trouble lately: no more than `carefulHandovers` messages may be with it. */
  readonly isCareful: boolean;
  pausedUntilMs: number;
  readonly account: AccountState;
  /** Since when the account has been in its state, in milliseconds of the epoch. */
  readonly stateSinceMs: number;
  /** At which rate the account may be used, if it has one of its own. */
  readonly pace: Pace | undefined;
  /** The carrier certainly takes nothing now: it refuses us, cannot be connected to, or has throttled for long. */
  isDown(nowMs: number): boolean;
  /** The account may have been put right: tries it now. */
  probe(): void;
  /** Whether another process that is refused too tries the account for both. When it no longer does, and every five minutes
   * while it does, this one tries. */
  follow(isLed: boolean): void;
  /** Refusals that the limiter which replaces this one must know. */
  readonly refused: RefusedBefore | undefined;
  /** The carrier refused our account: one message at a time may be with it. */
  readonly isTrying: boolean;
  /** Hands messages over; answers one result each and never throws. */
  handOver(messages: readonly HandOver[], mayLeave?: MayLeave): Promise<readonly HandOverResult[]>;
  /** The same for one message of many that are answered each by itself; `onResults` says what it means. */
  handOverOne(message: HandOver, mayLeave: MayLeave): Promise<HandOverResult>;
  onResults(messages: readonly HandOver[], results: readonly HandOverResult[]): readonly HandOverResult[];
}

export interface RefusedBefore {
  refusal: Refusal;
  isLed: boolean;
}

export interface LimiterAccount {
  id?: string;
  ratePerSecond?: number | undefined;
  /** The longest wait between two tries of an account that is refused. */
  probeMaxMs?: number | undefined;
  traces?: MessageTraces | undefined;
  /** The account was refused before it was changed: one message finds out whether it still is. */
  before?: RefusedBefore | undefined;
  /** Other accounts carry the channel too: a sender that is throttled here may be welcome there. */
  sharesChannel?(): boolean;
}

/** After trouble the provider is tried with a few before it is given many. */
const PROBE_SIZE = 1;
const FAULTS_TOLD_MS = 60_000;

export function createProviderLimiter(
  channel: Channel,
  provider: Provider,
  log: Log,
  observer?: DeliveryObserver,
  options: LimiterAccount = {},
): ProviderLimiter {
  return new WayLimiter(channel, provider, log, observer, options);
}

class WayLimiter implements ProviderLimiter {
  private readonly largest: number;
  // Fewer would leave the provider idle, however long its answers take. One batch is not counted: it ends with its
  // last answer, and the others are there to be worked on meanwhile.
  private readonly sizeMin: number;
  private size: number;
  private carefulUntilMs = 0;
  private throttledSinceMs = 0;
  private readonly throttle = new LongThrottle();
  private readonly breaker: AccountBreaker;
  private readonly deadlines = new AnswerDeadlines();
  private faults = 0;
  private faultsToldMs = 0;
  private isLed = false;
  private ledSinceMs = Date.now();
  pausedUntilMs: ProviderLimiter['pausedUntilMs'];
  readonly pace: ProviderLimiter['pace'];

  constructor(
    readonly channel: Channel,
    readonly provider: Provider,
    private readonly log: Log,
    private readonly observer?: DeliveryObserver,
    private readonly options: LimiterAccount = {},
  ) {
    this.largest = Math.min(provider.capabilities.batchMax, LIMITS.handoverBatch);
    this.sizeMin = Math.min(
      this.largest,
      Math.ceil(provider.capabilities.parallel / (LIMITS.handoversInFlight - 1)),
    );
    this.size = Math.min(100, this.largest);
    const { probeMaxMs, before } = options;
    this.breaker = new AccountBreaker(channel, provider.name, log, observer, probeMaxMs, before?.refusal);
    this.pausedUntilMs = 0;
    if (before) {
      this.size = PROBE_SIZE;
      this.isLed = before.isLed;
      if (before.isLed) this.pausedUntilMs = before.refusal.untilMs;
      else this.breaker.probe();
    }
    this.pace = options.ratePerSecond === undefined ? undefined : new Pace(options.ratePerSecond);
  }

  get batchSize(): ProviderLimiter['batchSize'] {
    return this.size;
  }

  get sizeMax(): ProviderLimiter['sizeMax'] {
    return this.isCareful ? Math.min(this.largest, LIMITS.carefulHandovers) : this.largest;
  }

  get isCareful(): ProviderLimiter['isCareful'] {
    return Date.now() < this.carefulUntilMs;
  }

  get account(): ProviderLimiter['account'] {
    const named: AccountState =
      this.options.id === undefined
        ? this.breaker.state
        : { ...this.breaker.state, account: this.options.id };
    if (named.state === 'paused' || this.pausedUntilMs <= Date.now()) return named;
    return {
      ...named,
      state: 'throttled' as const,
      nextTryAt: new Date(this.pausedUntilMs).toISOString(),
    };
  }

  get stateSinceMs(): ProviderLimiter['stateSinceMs'] {
    const { state, since } = this.account;
    if (state === 'paused') return Date.parse(since ?? '') || Date.now();
    if (state === 'throttled') return this.throttledSinceMs || Date.now();
    return Math.max(this.breaker.takesSinceMs, this.pausedUntilMs);
  }

  readonly isDown: ProviderLimiter['isDown'] = (nowMs) =>
    this.breaker.isRefused || this.throttle.isLong(nowMs);

  readonly probe: ProviderLimiter['probe'] = () => {
    this.breaker.probe();
    this.pausedUntilMs = 0;
  };

  readonly follow: ProviderLimiter['follow'] = (isLed) => {
    const now = Date.now();
    const wasLed = this.isLed;
    this.isLed = isLed && this.breaker.isRefused;
    if (this.isLed && !wasLed) this.ledSinceMs = now;
    // The other process may be refused alone, for example because its address is not on the carrier's list.
    const isOverdue = this.isLed && now - this.ledSinceMs >= LIMITS.accountPauseMaxMs;
    if (isOverdue) this.ledSinceMs = now;
    if (isOverdue || (wasLed && !this.isLed)) {
      this.probe();
    } else if (this.isLed) {
      this.breaker.follow(now + LIMITS.accountFollowMs);
      this.pausedUntilMs = Math.max(this.pausedUntilMs, this.breaker.pausedUntilMs);
    }
  };

  get refused(): ProviderLimiter['refused'] {
    const { refused: refusal } = this.breaker;
    return refusal && { refusal, isLed: this.isLed };
  }

  get isTrying(): ProviderLimiter['isTrying'] {
    return this.breaker.isTrying || this.throttle.isLong(Date.now());
  }

  readonly handOver: ProviderLimiter['handOver'] = async (messages, mayLeave) => {
    const startedAt = Date.now();
    const results = this.classified(messages, await this.answersOf(messages, mayLeave), startedAt);
    this.adapt(Date.now() - startedAt, messages.length);
    this.report(messages, startedAt);
    this.reportAnswers(results);
    this.pauseAfter(messages, results);
    return results;
  };

  readonly handOverOne: ProviderLimiter['handOverOne'] = async (message, mayLeave) => {
    const startedAt = Date.now();
    const messages = [message];
    const [result] = this.classified(messages, await this.answersOf(messages, mayLeave), startedAt);
    this.report(messages, startedAt);
    // At once, since what is recorded a moment later would let others leave meanwhile.
    if (result?.kind === 'account' || result?.kind === 'unknown') this.pauseAfter([message], [result]);
    if (result?.kind === 'stayed' && result.pauseMs !== undefined) {
      this.pausedUntilMs = Math.max(this.pausedUntilMs, Date.now() + result.pauseMs);
      this.pace?.take(-1);
    }
    return result ?? { kind: 'unknown' };
  };

  readonly onResults: ProviderLimiter['onResults'] = (messages, results) => {
    this.reportAnswers(results);
    if (results.some(isTrouble)) {
      this.carefulUntilMs = Date.now() + LIMITS.carefulMs;
      this.size = Math.min(this.size, LIMITS.carefulHandovers);
    }
    if (this.size < this.sizeMax && results.some(({ kind }) => kind === 'accepted')) {
      this.size = Math.min(this.sizeMax, this.size * 2);
    }
    this.pauseAfter(messages, results);
    return results;
  };

  /** A pause ends with the refusal that it came from: the carrier may take another message of the same moment. */
  private classified(
    messages: readonly HandOver[],
    answers: readonly HandOverResult[],
    startedAtMs: number,
  ): readonly HandOverResult[] {
    const { pausedUntilMs } = this.breaker;
    const results = this.breaker.onResults(messages, this.seen(answers, startedAtMs), startedAtMs);
    if (!this.breaker.isTrying && this.pausedUntilMs === pausedUntilMs) this.pausedUntilMs = 0;
    return results;
  }

  private adapt(tookMs: number, count: number): void {
    const isLong = tookMs > LIMITS.handoverTargetMs * 2;
    if (isLong && this.size > this.sizeMin)
      this.size = Math.max(this.sizeMin, Math.min(this.size, count >> 1));
    else if (tookMs < LIMITS.handoverTargetMs && count >= this.size)
      this.size = Math.min(this.sizeMax, this.size * 2);
    else if (count >= this.size && this.size < this.sizeMin)
      this.size = Math.min(this.sizeMin, this.size * 2);
  }

  /** Where there are other accounts, one that cannot be connected to pauses, and spends no attempts. */
  private seen(results: readonly HandOverResult[], startedAtMs: number): readonly HandOverResult[] {
    if (!this.options.sharesChannel?.()) return results;
    this.throttle.see(results, Date.now(), startedAtMs);
    this.pauseThrottled(this.throttle.untilMs);
    return results.map((result) =>
      result.kind === 'transient' && result.unreached
        ? { kind: 'account', code: result.code, message: 'The carrier cannot be connected to' }
        : result,
    );
  }

  private pauseAfter(messages: readonly HandOver[], results: readonly HandOverResult[]): void {
    const throttled = throttledSenders(messages, results);
    const isSilent = this.breaker.isRefused && results.some(({ kind }) => kind === 'unknown');
    // A message that alone is refused among others pauses nothing.
    if (isSilent || (this.breaker.isTrying && results.some(({ kind }) => kind === 'account'))) {
      this.pausedUntilMs = Math.max(this.pausedUntilMs, this.breaker.pausedUntilMs);
      this.size = PROBE_SIZE;
    } else if (throttled.length > 0) {
      // One sender waits by itself (sender-limits.ts); when several are sent away, it is about us.
      const delayMs = Math.min(...throttled.map((one) => one.delayMs), LIMITS.throttlePauseMs);
      const enough = this.options.sharesChannel?.() ? 0 : 1;
      if (throttled.filter((one) => !one.isAlone).length > enough) {
        this.pauseThrottled(Date.now() + delayMs);
      }
      this.size = Math.max(PROBE_SIZE, this.size >> 1);
    }
  }

  /** A shorter pause does not end a longer one, which the carrier may have named with the same answer. */
  private pauseThrottled(untilMs: number): void {
    const now = Date.now();
    if (untilMs > now && this.pausedUntilMs <= now) this.throttledSinceMs = now;
    this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs);
  }

  private report(messages: readonly HandOver[], startedAtMs: number): void {
    const { name } = this.provider;
    const tookMs = Date.now() - startedAtMs;
    this.observer?.handedOver(this.channel, name, messages.length, tookMs, this.options.id);
    this.options.traces?.left(messages, {
      channel: this.channel,
      provider: name,
      account: this.options.id,
      startedAtMs,
      tookMs,
    });
  }

  private reportAnswers(results: readonly HandOverResult[]): void {
    this.reportFaults(results);
    if (!this.observer?.answered) return;
    this.observer.answered(this.channel, this.options.id ?? this.provider.name, kindsOf(results));
  }

  /** Each of a campaign's messages may meet the same fault, so that a line a minute tells of all. */
  private reportFaults(results: readonly HandOverResult[]): void {
    const faults = results.flatMap((result) => ('fault' in result && result.fault) || []);
    this.faults += faults.length;
    if (faults.length === 0 || Date.now() < this.faultsToldMs + FAULTS_TOLD_MS) return;
    const { provider, channel, options } = this;
    this.log.error(
      { provider: provider.name, channel, account: options.id, fault: faults[0], count: this.faults },
      'Requests to the carrier failed in this process; what was not sent is tried again, and the rest is in doubt',
    );
    this.faults = 0;
    this.faultsToldMs = Date.now();
  }

  private async answersOf(
    messages: readonly HandOver[],
    mayLeave: MayLeave | undefined,
  ): Promise<HandOverResult[]> {
    try {
      const results = await this.deadlines.within(this.provider.handOver(messages, mayLeave));
      if (results.length === messages.length) return results;
      return messages.map((_, i): HandOverResult => results[i] ?? { kind: 'unknown' });
    } catch (error) {
      this.log.error(
        { err: error, provider: this.provider.name, channel: this.channel },
        'Provider failed during a hand-over',
      );
      // A message without an answer may have been taken.
      return messages.map((): HandOverResult => ({ kind: 'unknown' }));
    }
  }
}

/** Not taken, for no reason of the message, its sender or our account: the carrier may bear no more at once. */
const isTrouble = (result: HandOverResult): boolean =>
  result.kind === 'unknown' ||
  result.kind === 'transient' ||
  (result.kind === 'throttled' && result.scope === undefined);

function kindsOf(results: readonly HandOverResult[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind } of results) if (kind !== 'stayed') counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
