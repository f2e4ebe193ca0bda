import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { burstOf, type SenderLimits as Defaults, type SenderLimit } from '../../domain/sender-limit';
import { senderKey } from '../../domain/suppression';
import type { Log } from '../../log';
import type { OutgoingMessage } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';
import {
  type Demand,
  endCalls,
  type Grant,
  giveBackTokens,
  type SenderKey,
  silenceSender,
  takeTokens,
} from './sender-limit-bucket';

/**
 * Which senders are limited, and how much of a batch may leave now. A sender is limited by the configured
 * default of its channel, by an exception in the table, or for a while because its provider asked for a pause.
 * For all other senders it costs one look-up in a map.
 *
 * Exceptions are read at the start, and again when they change: by this process at once, by another within
 * `EXCEPTIONS_POLL_MS`.
 */
export interface SenderLimits {
  /** The key of the sender whose limit applies to this message; `undefined` without a limit. */
  keyOf(message: Sent): string | undefined;
  /**
   * How many messages of this sender to keep in memory: about what may leave within a second. `undefined` when
   * it is no longer limited.
   */
  queueMax(key: string): number | undefined;
  /** For messages of one sender: how many may leave now, and when to ask again. */
  take(messages: readonly Sent[]): Promise<Turn>;
  /**
   * For messages that are offered again together: answers those whose senders have paid for all of theirs. What another
   * sender has is taken and saved, because its messages that go one by one would leave nothing for many at once.
   */
  payAgain<Message extends Sent>(messages: readonly Message[], saved: Savings): Promise<Message[]>;
  /** These messages were granted and did not leave. */
  giveBack(messages: readonly Sent[]): Promise<void>;
  /** The provider asked for a pause of this message's sender. */
  throttled(message: Sent, delayMs: number): Promise<void>;
  /** These calls are over. */
  callsEnded(workspaceId: string, ids: readonly string[]): Promise<void>;
  /** A sender's limit: messages per second or, for SMS, segments. `undefined` without a limit. */
  rateOf(sender: Pick<Sent, 'workspaceId' | 'channel' | 'from'>): number | undefined;
  /** The exceptions have changed. */
  refresh(): Promise<void>;
  start(): Promise<void>;
  stop(): void;
}

type Sent = Pick<OutgoingMessage, 'id' | 'workspaceId' | 'channel' | 'from' | 'segments'>;

/** Tokens that were taken for messages which wait for more of them, by sender. */
export type Savings = Map<string, number>;

export interface Turn {
  granted: number;
  /** When to ask for the others; 0 when all were granted. */
  waitMs: number;
}

/**
 * A limited sender's tokens are taken in lots of this many seconds, because a query for each token would cost
 * too much.
 */
const LOT_SECONDS = 0.2;
/** Parts of a token are saved too, because messages that go one by one take each whole one as soon as it is there. */
const SAVED_MIN = 0.05;
/** Poll for calls that end in another process; this process notices its own at once. */
const CALLS_POLL_MS = 500;
const EXCEPTIONS_POLL_MS = 2_000;
/** Ended pauses are deleted when there are more entries than this. */
const SILENT_KEPT = 1_000;
const QUEUE_MIN = 20;
const QUEUE_MAX = 1_000;

interface SenderLimitsDeps {
  db: Kysely<MessagingTables>;
  defaults: Defaults;
  log: Log;
  /** Senders of the channel may have gained or lost a limit, or may send sooner than expected. */
  onChanged(channel: Channel): void;
}

export function createSenderLimits(deps: SenderLimitsDeps): SenderLimits {
  return new LimitedSenders(deps);
}

class LimitedSenders implements SenderLimits {
  private exceptions = new Map<string, SenderLimit>();
  private stamp = '';
  private readonly silentUntilMs = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  /** Calls of some sender are counted, or were: their places are in its bucket until they end, whatever its limit is by then. */
  private hasCounted: boolean;

  constructor(private readonly deps: SenderLimitsDeps) {
    this.hasCounted = countsCalls(deps.defaults.voice);
  }

  readonly keyOf: SenderLimits['keyOf'] = (message) => {
    const { channel } = message;
    if (this.exceptions.size === 0 && this.silentUntilMs.size === 0 && !this.channelIsLimited(channel))
      return undefined;
    const key = nameOf(keyOfMessage(message));
    return hasLimit(this.limitOf(key, channel)) || this.isSilent(key) ? key : undefined;
  };

  readonly queueMax: SenderLimits['queueMax'] = (key) => {
    const limit = this.limitOf(key, channelIn(key));
    if (!hasLimit(limit) && !this.isSilent(key)) return undefined;
    const { rate, concurrentCalls } = limit;
    const perSecond = rate ?? concurrentCalls ?? QUEUE_MAX;
    return Math.min(QUEUE_MAX, Math.max(QUEUE_MIN, Math.ceil(perSecond)));
  };

  readonly rateOf: SenderLimits['rateOf'] = (sender) =>
    this.limitOf(nameOf(keyOfMessage(sender)), sender.channel).rate;

  readonly take: SenderLimits['take'] = async (messages) => {
    const [first] = messages;
    if (!first) return { granted: 0, waitMs: 0 };
    const key = keyOfMessage(first);
    const name = nameOf(key);
    const limit = this.limitOf(name, first.channel);
    if (this.isSilent(name)) return { granted: 0, waitMs: (this.silentUntilMs.get(name) ?? 0) - Date.now() };
    if (!hasLimit(limit)) return { granted: messages.length, waitMs: 0 };
    const demand = demandOf(messages);
    const grant = await takeTokens(this.deps.db, key, limit, demand);
    return { granted: grant.granted, waitMs: waitMs(grant, limit, demand) };
  };

  readonly payAgain = async <Message extends Sent>(
    messages: readonly Message[],
    saved: Savings,
  ): Promise<Message[]> => {
    const paid: Message[] = [];
    for (const ofSender of bySender(messages)) {
      const [first] = ofSender as [Message];
      const key = keyOfMessage(first);
      const name = nameOf(key);
      if (this.isSilent(name)) continue;
      const before = saved.get(name) ?? 0;
      const missing = (demandOf(ofSender).costs.at(-1) ?? 0) - before;
      const taken = await this.takeSome(key, first, missing);
      saved.set(name, taken < missing ? before + taken : 0);
      if (taken >= missing) paid.push(...ofSender);
    }
    return paid;
  };

  /** At least half of what there is of so many tokens. The calls were counted when they were granted. */
  private async takeSome(key: SenderKey, { id, channel }: Sent, count: number): Promise<number> {
    const { rate, burst } = this.limitOf(nameOf(key), channel);
    if (rate === undefined || count <= 0) return count;
    const costs = [count];
    for (let half = count / 2; half >= SAVED_MIN; half /= 2) costs.unshift(half);
    const ids = costs.map(() => id);
    const { granted } = await takeTokens(this.deps.db, key, { rate, burst }, { ids, costs });
    return costs[granted - 1] ?? 0;
  }

  readonly giveBack: SenderLimits['giveBack'] = async (messages) => {
    for (const ofSender of bySender(messages)) {
      const [first] = ofSender as [Sent];
      const key = keyOfMessage(first);
      if (!hasLimit(this.limitOf(nameOf(key), first.channel))) continue;
      await giveBackTokens(this.deps.db, key, {
        ids: ofSender.map(({ id }) => id),
        cost: demandOf(ofSender).costs.at(-1) ?? 0,
      });
    }
  };

  readonly throttled: SenderLimits['throttled'] = async (message, delayMs) => {
    const key = keyOfMessage(message);
    const name = nameOf(key);
    if (this.silentUntilMs.size >= SILENT_KEPT)
      for (const one of [...this.silentUntilMs.keys()]) this.isSilent(one);
    this.silentUntilMs.set(name, Math.max(this.silentUntilMs.get(name) ?? 0, Date.now() + delayMs));
    const limit = this.limitOf(name, message.channel);
    if (hasLimit(limit)) await silenceSender(this.deps.db, key, limit, delayMs);
  };

  readonly callsEnded: SenderLimits['callsEnded'] = async (workspaceId, ids) => {
    if (ids.length === 0 || !this.hasCounted) return;
    await endCalls(this.deps.db, workspaceId, ids);
    this.deps.onChanged('voice');
  };

  readonly refresh = async (): Promise<void> => {
    const rows = await this.deps.db.selectFrom('sender_limits').selectAll().execute();
    this.exceptions = new Map(
      rows.map((row) => [
        nameOf({ workspaceId: row.workspace_id, channel: row.channel, sender: row.sender }),
        {
          rate: row.rate ?? undefined,
          burst: row.burst ?? undefined,
          concurrentCalls: row.concurrent_calls ?? undefined,
        },
      ]),
    );
    this.hasCounted ||= [...this.exceptions.values()].some(countsCalls);
    for (const channel of CHANNELS) this.deps.onChanged(channel);
  };

  readonly start: SenderLimits['start'] = async () => {
    await this.refresh();
    this.timer = setInterval(() => {
      this.poll().catch((error: unknown) =>
        this.deps.log.warn({ err: error }, 'Limits of senders could not be read'),
      );
    }, EXCEPTIONS_POLL_MS);
    this.timer.unref();
  };

  readonly stop: SenderLimits['stop'] = () => clearInterval(this.timer);

  private readonly channelIsLimited = (channel: Channel) => hasLimit(this.deps.defaults[channel]);

  private readonly limitOf = (key: string, channel: Channel) =>
    this.exceptions.get(key) ?? this.deps.defaults[channel] ?? {};

  private isSilent(key: string): boolean {
    const until = this.silentUntilMs.get(key);
    if (until === undefined) return false;
    if (until > Date.now()) return true;
    this.silentUntilMs.delete(key);
    return false;
  }

  /** The newest time says too little: processes whose clocks differ write them, and the later one may be committed first. */
  private async poll(): Promise<void> {
    const { rows } = await sql<{ stamp: string }>`
      select count(*) || ' ' || coalesce(sum(extract(epoch from updated_at)), 0) as stamp from sender_limits
    `.execute(this.deps.db);
    const now = rows[0]?.stamp ?? '';
    if (now === this.stamp) return;
    await this.refresh();
    this.stamp = now;
  }
}

const countsCalls = (limit: SenderLimit | undefined) => limit?.concurrentCalls !== undefined;

const hasLimit = (limit: SenderLimit | undefined) => limit?.rate !== undefined || countsCalls(limit);

const keyOfMessage = ({
  workspaceId,
  channel,
  from,
}: Pick<Sent, 'workspaceId' | 'channel' | 'from'>): SenderKey => ({
  workspaceId,
  channel,
  sender: senderKey(from),
});

/** The channel comes first, because it is the only part without unknown characters. */
const nameOf = ({ workspaceId, channel, sender }: SenderKey) => `${channel}/${workspaceId}/${sender}`;
const channelIn = (key: string) => key.slice(0, key.indexOf('/')) as Channel;

function demandOf(messages: readonly Sent[]): Demand {
  let sum = 0;
  const costs = messages.map((message) => {
    sum += costOf(message);
    return sum;
  });
  return { ids: messages.map(({ id }) => id), costs };
}

/** Carriers count segments, and a message has at least one. */
const costOf = ({ channel, segments }: Sent) => (channel === 'sms' ? Math.max(1, segments ?? 1) : 1);

/** Time until the bucket has a lot's worth of tokens or, if less is wanted or held, that much. */
function waitMs({ granted, tokens, silentMs, calls }: Grant, limit: SenderLimit, { costs }: Demand): number {
  if (granted === costs.length) return 0;
  const spent = granted === 0 ? 0 : (costs[granted - 1] as number);
  const next = (costs[granted] as number) - spent;
  const all = (costs.at(-1) as number) - spent;
  const { rate, concurrentCalls } = limit;
  const wanted = Math.min(Math.max(next, Math.min(all, (rate ?? 0) * LOT_SECONDS)), burstOf(limit));
  const tokensMs = rate === undefined ? 0 : Math.ceil(((wanted - tokens) / rate) * 1_000);
  const callsMs = concurrentCalls !== undefined && calls >= concurrentCalls ? CALLS_POLL_MS : 0;
  return Math.max(1, tokensMs, callsMs, Math.ceil(silentMs));
}

function bySender<Message extends Sent>(messages: readonly Message[]): Message[][] {
  const groups = new Map<string, Message[]>();
  for (const message of messages) {
    const key = nameOf(keyOfMessage(message));
    const group = groups.get(key);
    if (group) group.push(message);
    else groups.set(key, [message]);
  }
  return [...groups.values()];
}
