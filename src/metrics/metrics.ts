import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { RequestObserver } from '../http/request/observer';
import type { DeliveryObserver } from '../messaging/model/observer';

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
  /** Recipients of the runs that go on, by the run's phase. */
  recipients?(): Promise<readonly { phase: string; state: string; count: number }[]>;
  /** Workspaces by how much they have sent lately. */
  workspaces?(): Promise<readonly WorkspaceSize[]>;
  /** The pool of database connections, if there is one. */
  connections(): { open: number; idle: number; waiting: number } | undefined;
  onError(error: unknown): void;
  /** Shortest time between two queries, and how long a reader waits for one. Shorter in tests. */
  queryMs?: number;
  answerMs?: number;
}

export interface WorkspaceSize {
  size: string;
  workspaces: number;
  /** Messages of the last hour. */
  messages: { sent: number; delivered: number; failed: number };
  /** How long the oldest due message of any of them has waited. */
  oldestSeconds: number;
}

/** Accounts with a label of their own. Those that are created later than so many others share one. */
const ACCOUNT_LABELS_MAX = 100;

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
      ...observeHandOvers(registers),
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

/** What providers and carriers make of the messages they are given. */
function observeHandOvers(
  registers: Registry[],
): Pick<DeliveryObserver, 'handedOver' | 'answered' | 'accountRefused'> {
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
  const answers = new Counter({
    name: 'fanfare_account_answers_total',
    help: 'What carriers answered to messages, by account.',
    labelNames: ['account', 'channel', 'answer'],
    registers,
  });
  const accountSeconds = new Histogram({
    name: 'fanfare_account_handover_seconds',
    help: 'How long the carrier of an account took for a batch of messages.',
    labelNames: ['account', 'channel'],
    buckets: SECONDS,
    registers,
  });
  const accountLabel = boundedLabel(ACCOUNT_LABELS_MAX);

  return {
    handedOver(channel, provider, count, tookMs, account = provider) {
      accountSeconds.observe({ account: accountLabel(account), channel }, tookMs / 1_000);
      batches.observe({ channel, provider }, tookMs / 1_000);
      batchSizes.observe({ channel, provider }, count);
    },
    answered(channel, account, kinds) {
      const label = accountLabel(account);
      for (const [answer, count] of kinds) answers.inc({ account: label, channel, answer }, count);
    },
    accountRefused: (channel, provider, refused) =>
      refusedAccounts.set({ channel, provider }, refused ? 1 : 0),
  };
}

/**
 * Metrics that are queried at a read. If the database does not answer, these are left out and the others are
 * reported.
 */
function addQueried(registry: Registry, sources: MetricsSources): void {
  const { outbox, runs, connections } = sources;
  const registers = [registry];
  const askOutbox = atMostEvery(outbox, sources);
  const askRuns = atMostEvery(runs, sources);
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
  addRecipients(registry, atMostEvery(sources.recipients ?? none, sources));
  addWorkspaces(registry, atMostEvery(sources.workspaces ?? none, sources));
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

const none = async () => [];

/** The first so many values as they are, and all others as one, so that what is configured does not fill memory. */
function boundedLabel(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max) return 'other';
    known.add(value);
    return value;
  };
}

type Ask<T> = () => Promise<readonly T[] | undefined>;

function addRecipients(registry: Registry, ask: Ask<{ phase: string; state: string; count: number }>): void {
  new Gauge({
    name: 'fanfare_campaign_recipients',
    help: 'Recipients of runs that go on, by the phase of the run and their state.',
    labelNames: ['phase', 'state'],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { phase, state, count } of (await ask()) ?? []) this.set({ phase, state }, count);
    },
  });
}

/** By size, since the name of a workspace is no label: there may be thousands. */
function addWorkspaces(registry: Registry, ask: Ask<WorkspaceSize>): void {
  const registers = [registry];
  const bySize = (name: string, help: string, value: (one: WorkspaceSize) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['size'], registers },
      async collect() {
        this.reset();
        for (const one of (await ask()) ?? []) this.set({ size: one.size }, value(one));
      },
    });
  bySize('fanfare_workspaces', 'Workspaces by what they sent within an hour.', (one) => one.workspaces);
  bySize(
    'fanfare_workspace_outbox_oldest_seconds',
    'How long the oldest due message of such a workspace has been due.',
    (one) => one.oldestSeconds,
  );
  new Gauge({
    name: 'fanfare_workspace_messages',
    help: 'Messages of such workspaces within the last hour.',
    labelNames: ['size', 'outcome'],
    registers,
    async collect() {
      this.reset();
      for (const { size, messages } of (await ask()) ?? []) {
        for (const [outcome, count] of Object.entries(messages)) this.set({ size, outcome }, count);
      }
    },
  });
}

/**
 * Runs one query at a time and keeps its result for a while, so that many readers cost no more than one. A reader waits
 * for it less long than Prometheus waits for all metrics, since a database that hangs would otherwise hide the rest.
 */
function atMostEvery<T>(
  ask: () => Promise<T>,
  {
    onError,
    queryMs = LIMITS.metricsQueryMs,
    answerMs = LIMITS.metricsAnswerMs,
  }: Pick<MetricsSources, 'onError' | 'queryMs' | 'answerMs'>,
): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let isAsking = false;
  return () => {
    const now = performance.now();
    if (!answer || (!isAsking && now - askedAt >= queryMs)) {
      askedAt = now;
      isAsking = true;
      answer = ask()
        .catch((error: unknown) => {
          onError(error);
          return undefined;
        })
        .finally(() => {
          isAsking = false;
        });
    }
    return inTime(answer, answerMs);
  };
}

async function inTime<T>(answer: Promise<T | undefined>, limitMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), limitMs);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
