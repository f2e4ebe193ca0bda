import type { AccountState } from '../../../domain/account';
import type { Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { HandOver, HandOverResult, MayLeave, Provider } from '../../../providers/provider';
import type { DeliveryObserver, MessageTraces } from '../../model/observer';
import { AccountBreaker } from './account-breaker';
import { LongThrottle } from './long-throttle';
import { Pace } from './pace';

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
  /** The carrier refused our account: one message at a time may be with it. */
  readonly isTrying: boolean;
  /** Hands messages over; answers one result each and never throws. */
  handOver(messages: readonly HandOver[], mayLeave?: MayLeave): Promise<HandOverResult[]>;
  /** The same for one message of many that are answered each by itself; `onResults` says what it means. */
  handOverOne(message: HandOver, mayLeave: MayLeave): Promise<HandOverResult>;
  onResults(messages: readonly HandOver[], results: readonly HandOverResult[]): readonly HandOverResult[];
}

export interface LimiterAccount {
  id?: string;
  ratePerSecond?: number | undefined;
  /** The longest wait between two tries of an account that is refused. */
  probeMaxMs?: number | undefined;
  traces?: MessageTraces | undefined;
  /** Other accounts carry the channel too: a sender that is throttled here may be welcome there. */
  sharesChannel?(): boolean;
}

/** After trouble the provider is tried with a few before it is given many. */
const PROBE_SIZE = 1;

export function createProviderLimiter(
  channel: Channel,
  provider: Provider,
  log: Log,
  observer?: DeliveryObserver,
  account: LimiterAccount = {},
): ProviderLimiter {
  const sizeMax = Math.min(provider.capabilities.batchMax, LIMITS.handoverBatch);
  // Fewer would leave the provider idle, however long its answers take. One batch is not counted: it ends with its
  // last answer, and the others are there to be worked on meanwhile.
  const sizeMin = Math.min(
    sizeMax,
    Math.ceil(provider.capabilities.parallel / (LIMITS.handoversInFlight - 1)),
  );
  let batchSize = Math.min(100, sizeMax);
  let throttledSinceMs = 0;
  const throttle = new LongThrottle();
  const breaker = new AccountBreaker(channel, provider.name, log, observer, account.probeMaxMs);

  function adapt(tookMs: number, count: number): void {
    const isLong = tookMs > LIMITS.handoverTargetMs * 2;
    if (isLong && batchSize > sizeMin) batchSize = Math.max(sizeMin, Math.min(batchSize, count >> 1));
    else if (tookMs < LIMITS.handoverTargetMs && count >= batchSize)
      batchSize = Math.min(sizeMax, batchSize * 2);
    else if (count >= batchSize && batchSize < sizeMin) batchSize = Math.min(sizeMin, batchSize * 2);
  }

  /** Where there are other accounts, one that cannot be connected to pauses, and spends no attempts. */
  function seen(results: readonly HandOverResult[]): readonly HandOverResult[] {
    if (!account.sharesChannel?.()) return results;
    throttle.see(results, Date.now());
    limiter.pausedUntilMs = Math.max(limiter.pausedUntilMs, throttle.untilMs);
    return results.map((result) =>
      result.kind === 'transient' && result.unreached
        ? { kind: 'account', code: result.code, message: 'The carrier cannot be connected to' }
        : result,
    );
  }

  function heed(messages: readonly HandOver[], results: readonly HandOverResult[]): void {
    const throttled = throttledSenders(messages, results);
    if (results.some((result) => result.kind === 'account')) {
      limiter.pausedUntilMs = Math.max(limiter.pausedUntilMs, breaker.pausedUntilMs);
      batchSize = PROBE_SIZE;
    } else if (throttled.length > 0) {
      // One sender waits by itself (sender-limits.ts); when several are sent away, it is about us.
      const delayMs = Math.min(...throttled.map((one) => one.delayMs), LIMITS.throttlePauseMs);
      const enough = account.sharesChannel?.() ? 0 : 1;
      if (throttled.filter((one) => !one.isAlone).length > enough) {
        if (limiter.pausedUntilMs <= Date.now()) throttledSinceMs = Date.now();
        limiter.pausedUntilMs = Date.now() + delayMs;
      }
      batchSize = Math.max(PROBE_SIZE, batchSize >> 1);
    }
  }

  function told(
    messages: readonly HandOver[],
    results: readonly (HandOverResult | undefined)[],
    startedAtMs: number,
  ): void {
    const { name } = provider;
    const tookMs = Date.now() - startedAtMs;
    observer?.handedOver(channel, name, messages.length, tookMs, account.id);
    observer?.answered?.(channel, account.id ?? name, kindsOf(messages, results));
    account.traces?.left(messages, { channel, provider: name, account: account.id, startedAtMs, tookMs });
  }

  async function answersOf(
    messages: readonly HandOver[],
    mayLeave: MayLeave | undefined,
  ): Promise<HandOverResult[]> {
    return withinTime(provider, messages, mayLeave).catch((error: unknown) => {
      log.error({ err: error, provider: provider.name, channel }, 'Provider failed during a hand-over');
      return [];
    });
  }

  const limiter: ProviderLimiter = {
    channel,
    provider,
    pausedUntilMs: 0,
    get batchSize() {
      return batchSize;
    },
    sizeMax,
    get account() {
      const named: AccountState =
        account.id === undefined ? breaker.state : { ...breaker.state, account: account.id };
      if (named.state === 'paused' || limiter.pausedUntilMs <= Date.now()) return named;
      return {
        ...named,
        state: 'throttled' as const,
        nextTryAt: new Date(limiter.pausedUntilMs).toISOString(),
      };
    },
    get stateSinceMs() {
      const { state, since } = limiter.account;
      if (state === 'paused') return Date.parse(since ?? '') || Date.now();
      if (state === 'throttled') return throttledSinceMs || Date.now();
      return Math.max(breaker.takesSinceMs, limiter.pausedUntilMs);
    },
    pace: account.ratePerSecond === undefined ? undefined : new Pace(account.ratePerSecond),
    isDown: (nowMs) => breaker.isRefused || throttle.isLong(nowMs),
    probe() {
      breaker.probe();
      limiter.pausedUntilMs = 0;
    },
    get isTrying() {
      return breaker.isTrying || throttle.isLong(Date.now());
    },
    async handOver(messages, mayLeave) {
      const startedAt = Date.now();
      const results = breaker.judge(messages, seen(await answersOf(messages, mayLeave)), startedAt);
      const tookMs = Date.now() - startedAt;
      told(messages, results, startedAt);
      adapt(tookMs, messages.length);
      heed(messages, results);
      // What was not answered for may have been taken.
      return messages.map((_, i) => results[i] ?? { kind: 'unknown' });
    },
    async handOverOne(message, mayLeave) {
      const startedAt = Date.now();
      const [result] = breaker.judge([message], seen(await answersOf([message], mayLeave)), startedAt);
      told([message], [result], startedAt);
      // At once, since what is recorded a moment later would let others leave meanwhile.
      if (result?.kind === 'account') heed([message], [result]);
      if (result?.kind === 'stayed' && result.pauseMs !== undefined) {
        limiter.pausedUntilMs = Math.max(limiter.pausedUntilMs, Date.now() + result.pauseMs);
        limiter.pace?.take(-1);
      }
      return result ?? { kind: 'unknown' };
    },
    onResults(messages, results) {
      if (batchSize < sizeMax && results.some(({ kind }) => kind === 'accepted')) {
        batchSize = Math.min(sizeMax, batchSize * 2);
      }
      heed(messages, results);
      return results;
    },
  };
  return limiter;
}

export interface ThrottledSender {
  sender: string;
  delayMs: number;
  /** The provider said that it is about no other message. */
  isAlone: boolean;
}

/**
 * Senders that the provider asked to be silent, and for how long: those of whose messages it sent most
 * away, since a few may be about their recipients.
 */
export function throttledSenders(
  messages: readonly HandOver[],
  results: readonly HandOverResult[],
): ThrottledSender[] {
  if (!results.some((result) => result.kind === 'throttled')) return [];
  const senders = new Map<string, { given: number; away: number; delayMs: number; isAlone: boolean }>();
  messages.forEach(({ from }, i) => {
    const sender = senders.get(from) ?? { given: 0, away: 0, delayMs: 0, isAlone: true };
    senders.set(from, sender);
    sender.given += 1;
    const result = results[i];
    if (result?.kind !== 'throttled' || result.scope === 'message') return;
    sender.away += 1;
    if (result.scope !== 'sender') sender.isAlone = false;
    sender.delayMs = Math.max(sender.delayMs, Math.min(result.retryAfterMs, LIMITS.senderSilenceMs));
  });
  return [...senders].flatMap(([sender, { given, away, delayMs, isAlone }]) =>
    away * 2 > given ? [{ sender, delayMs, isAlone }] : [],
  );
}

async function withinTime(
  provider: Provider,
  messages: readonly HandOver[],
  mayLeave: MayLeave | undefined,
): Promise<HandOverResult[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<HandOverResult[]>((_, reject) => {
    const ms = LIMITS.handoverTimeoutSeconds * 1_000;
    timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
    timer.unref();
  });
  try {
    return await Promise.race([provider.handOver(messages, mayLeave), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** An answer that is missing is unknown. */
function kindsOf(
  messages: readonly HandOver[],
  results: readonly (HandOverResult | undefined)[],
): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < messages.length; i++) {
    const { kind } = results[i] ?? { kind: 'unknown' };
    if (kind !== 'stayed') counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
