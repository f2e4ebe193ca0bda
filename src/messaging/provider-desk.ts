import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { HandOver, HandOverResult, Provider } from '../providers/provider';

/**
 * One channel's provider as the dispatcher sees it: how many batches are with it, how large the next
 * may be, and whether it takes any at the moment.
 */
export interface ProviderDesk {
  readonly channel: Channel;
  readonly provider: Provider;
  readonly batchSize: number;
  pausedUntilMs: number;
  hasRoom(): boolean;
  /** How long the next batch should still wait to fill up: an idle desk sends at once, a busy one gathers. */
  lingerMs(queued: number): number;
  /** Hands messages over; answers one result each and never throws. */
  handOver(messages: readonly HandOver[]): Promise<HandOverResult[]>;
  enter(): void;
  leave(): void;
}

/** After trouble the provider is tried with a few before it is given many. */
const PROBE_SIZE = 1;

export function createProviderDesk(channel: Channel, provider: Provider, log: Log): ProviderDesk {
  const sizeMax = Math.min(provider.capabilities.batchMax, LIMITS.handoverBatch);
  let batchSize = Math.min(100, sizeMax);
  let inFlight = 0;
  let enteredAt = 0;
  let accountRefused = false;

  function adapt(tookMs: number, count: number): void {
    if (tookMs > LIMITS.handoverTargetMs * 2) batchSize = Math.max(1, Math.floor(count / 2));
    else if (tookMs < LIMITS.handoverTargetMs && count >= batchSize)
      batchSize = Math.min(sizeMax, batchSize * 2);
  }

  function heed(results: readonly HandOverResult[]): void {
    const refused = results.find((result) => result.kind === 'account');
    const delays = results.flatMap((result) => (result.kind === 'throttled' ? [result.retryAfterMs] : []));
    if (refused) {
      const level = accountRefused ? 'debug' : 'error';
      log[level]({ provider: provider.name, channel, code: refused.code }, 'Provider refuses our account');
      accountRefused = true;
      desk.pausedUntilMs = Date.now() + LIMITS.accountPauseMs;
      batchSize = PROBE_SIZE;
    } else if (delays.length * 2 > results.length) {
      // A few may be about their recipients; most of a batch is about us.
      desk.pausedUntilMs = Date.now() + Math.min(Math.max(...delays), LIMITS.accountPauseMs);
      batchSize = Math.max(PROBE_SIZE, batchSize >> 1);
    } else if (results.some((result) => result.kind === 'accepted')) {
      accountRefused = false;
    }
  }

  const desk: ProviderDesk = {
    channel,
    provider,
    pausedUntilMs: 0,
    get batchSize() {
      return batchSize;
    },
    hasRoom: () => inFlight < LIMITS.handoversInFlight,
    lingerMs(queued) {
      if (queued >= batchSize) return 0;
      return Math.max(0, enteredAt + LIMITS.handoverLingerMs - Date.now());
    },
    async handOver(messages) {
      const startedAt = Date.now();
      const results = await withinTime(provider, messages).catch((error: unknown) => {
        log.error({ err: error, provider: provider.name, channel }, 'Provider failed during a hand-over');
        return [];
      });
      adapt(Date.now() - startedAt, messages.length);
      heed(results);
      // What was not answered for may have been taken.
      return messages.map((_, i) => results[i] ?? { kind: 'unknown' });
    },
    enter() {
      inFlight += 1;
      enteredAt = Date.now();
    },
    leave() {
      inFlight -= 1;
    },
  };
  return desk;
}

async function withinTime(provider: Provider, messages: readonly HandOver[]): Promise<HandOverResult[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<HandOverResult[]>((_, reject) => {
    const ms = LIMITS.handoverTimeoutSeconds * 1_000;
    timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
    timer.unref();
  });
  try {
    return await Promise.race([provider.handOver(messages), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
