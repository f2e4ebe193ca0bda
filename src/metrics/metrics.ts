import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { RequestObserver } from '../http/request/observer';
import type { DeliveryObserver } from '../messaging/observer';

/**
 * Metrics of this process for Prometheus (docs/operating.md lists them). Events are counted where they happen,
 * in memory, once for many messages. The database is queried when metrics are read, and at most every few
 * seconds. Labels are channels, states, routes and the like, never an id, an address or a workspace, so that
 * the program limits their number.
 */
export interface Metrics {
  readonly delivery: DeliveryObserver;
  readonly requests: RequestObserver;
  readonly contentType: string;
  /** All metrics, as text. */
  read(): Promise<string>;
}

export interface MetricsSources {
  /** Due messages that no provider has. */
  outbox(): Promise<{ channel: string; messages: number; oldestSeconds: number }[]>;
  /** Runs by phase. */
  runs(): Promise<ReadonlyMap<string, number>>;
  /** The pool of database connections, if there is one. */
  connections(): { open: number; idle: number; waiting: number } | undefined;
  onError(error: unknown): void;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_SIZES = [1, 5, 10, 50, 100, 250, 500];

export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const messages = new Counter({
    name: 'fanfare_messages_total',
    help: 'Messages that came to a state; those that stay accepted to be tried again come to it anew.',
    labelNames: ['channel', 'state'],
    registers,
  });
  const batches = new Histogram({
    name: 'fanfare_handover_seconds',
    help: 'How long a provider took for a batch of messages.',
    labelNames: ['channel', 'provider'],
    buckets: SECONDS,
    registers,
  });
  const batchSizes = new Histogram({
    name: 'fanfare_handover_batch_messages',
    help: 'How many messages a provider was given at once.',
    labelNames: ['channel', 'provider'],
    buckets: BATCH_SIZES,
    registers,
  });
  const refusedAccounts = new Gauge({
    name: 'fanfare_provider_account_refused',
    help: 'Whether the carrier refuses our account: 1 from the first refusal until it takes a message again.',
    labelNames: ['channel', 'provider'],
    registers,
  });
  const receipts = new Counter({
    name: 'fanfare_receipts_total',
    help: 'What providers reported, also what was told twice.',
    labelNames: ['provider'],
    registers,
  });
  const lostIds = new Counter({
    name: 'fanfare_receipts_without_id_total',
    help: 'Receipts with an id that was never stored: matched to their message, or ambiguous.',
    labelNames: ['provider', 'outcome'],
    registers,
  });
  const requests = new Histogram({
    name: 'fanfare_http_request_seconds',
    help: 'Requests by the pattern of their route, with the time until the answer was written.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  });
  addQueried(registry, sources);

  return {
    delivery: {
      moved: (channel, state, count) => messages.inc({ channel, state }, count),
      handedOver(channel, provider, count, tookMs) {
        batches.observe({ channel, provider }, tookMs / 1_000);
        batchSizes.observe({ channel, provider }, count);
      },
      accountRefused: (channel, provider, refused) =>
        refusedAccounts.set({ channel, provider }, refused ? 1 : 0),
      receipts: (provider, count) => receipts.inc({ provider }, count),
      lostIds: (provider, outcome, count) => lostIds.inc({ provider, outcome }, count),
    },
    requests: (method, route, status, tookMs) => {
      requests.observe({ method, route: route ?? 'none', status }, tookMs / 1_000);
    },
    contentType: registry.contentType,
    read: () => registry.metrics(),
  };
}

/**
 * Metrics that are queried at a read. If the database does not answer, these are left out and the others are
 * reported.
 */
function addQueried(registry: Registry, { outbox, runs, connections, onError }: MetricsSources): void {
  const registers = [registry];
  const askOutbox = atMostEvery(LIMITS.metricsQueryMs, outbox, onError);
  const askRuns = atMostEvery(LIMITS.metricsQueryMs, runs, onError);
  const byChannel = (name: string, help: string, value: 'messages' | 'oldestSeconds') =>
    new Gauge({
      ...{ name, help, labelNames: ['channel'], registers },
      async collect() {
        this.reset();
        const found = await askOutbox();
        if (!found) return;
        for (const channel of CHANNELS) this.set({ channel }, 0);
        for (const one of found) this.set({ channel: one.channel }, one[value]);
      },
    });
  byChannel('fanfare_outbox_messages', 'Due messages that are not with a provider.', 'messages');
  byChannel('fanfare_outbox_oldest_seconds', 'How long the oldest of them has been due.', 'oldestSeconds');
  new Gauge({
    name: 'fanfare_campaign_runs',
    help: 'Runs of campaigns by phase.',
    labelNames: ['phase'],
    registers,
    async collect() {
      this.reset();
      for (const [phase, count] of (await askRuns()) ?? []) this.set({ phase }, count);
    },
  });
  new Gauge({
    name: 'fanfare_database_connections',
    help: 'Connections to PostgreSQL, and who waits for one.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(connections() ?? {})) this.set({ state }, count);
    },
  });
}

/** Runs one query at a time and keeps its result for a while, so that many readers cost no more than one. */
function atMostEvery<T>(
  ms: number,
  ask: () => Promise<T>,
  onError: (error: unknown) => void,
): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (answer && now - askedAt < ms) return answer;
    askedAt = now;
    answer = ask().catch((error: unknown) => {
      onError(error);
      return undefined;
    });
    return answer;
  };
}
