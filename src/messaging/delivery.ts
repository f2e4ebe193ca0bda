import type { Kysely } from 'kysely';
import type { MessageList } from '../contracts/messages';
import type { Message } from '../contracts/send';
import { type Account, type AccountState, defaultAccountId } from '../domain/account';
import { CHANNELS, type Channel } from '../domain/channel';
import { isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { MessageStory } from '../domain/message-story';
import type { SenderLimits as SenderLimitDefaults } from '../domain/sender-limit';
import type { Foreground } from '../foreground';
import type { Log } from '../log';
import type { InboundSink, Provider, ReceiptSink } from '../providers/provider';
import { type Carriers, type CarriersDeps, createCarriers, defaultWayOf, wayId } from './carriers/carriers';
import { closeSender, type RefusedByReceipt, refusedSenders } from './carriers/closed-senders';
import { impossibleRule } from './carriers/possible-rule';
import { findInabilities, type SendingFinding, type SendingQuestion, wishOf } from './carriers/routes';
import { createEventFeed, type EventFeed } from './events/events';
import { listMessages } from './events/message-list';
import { messageStories } from './events/stories';
import { type MessageRecord, type TrackedMessage, trackMessage } from './events/tracking';
import { createInboundMessages } from './inbound/inbound-sms';
import { isDataError } from './model/database-error';
import { createGroupCommit } from './model/group-commit';
import { type DeliveryObserver, type MessageTraces, tellMoves } from './model/observer';
import type { Accepted, Outcome } from './model/outgoing';
import type { MessagingTables } from './model/tables';
import { createAccept } from './outbox/accept/accept';
import type { PolicySource, SenderRule } from './outbox/accept/policy-rules';
import { createRechecks } from './outbox/accept/recheck';
import { type Canceled, cancelMessages } from './outbox/cancel';
import type { ListUnsubscribe } from './outbox/deliver/list-unsubscribe';
import { createStatusLookup } from './outbox/deliver/status-lookup';
import { Dispatcher } from './outbox/dispatch';
import type { StopRule } from './outbox/queue/holds';
import { createHolds } from './outbox/queue/holds';
import { createLanes } from './outbox/queue/lanes';
import { createOutboxCount, type OutboxCount } from './outbox/queue/outbox-count';
import { createWithdrawals } from './outbox/withdraw';
import { createReceipts } from './receipts/receipts';
import { createSenderLimitList, type SenderLimitList } from './senders/sender-limit-list';
import { createSenderLimits, type SenderLimits } from './senders/sender-limits';
import { createSmsSenders } from './senders/sms-senders';
import type { TemplateVersions } from './templates/template-versions';

/**
 * Messages from the request to the provider and back: accepted, handed over, followed. Every call concerns one
 * workspace and throws DomainErrors.
 */
export interface Delivery {
  /** Idempotent on the uid; resolves when the message is durable. */
  accept(workspaceId: string, message: Message): Promise<Accepted>;
  /** One outcome per message, in order; each message is judged alone. */
  acceptMany(workspaceId: string, messages: readonly Message[]): Promise<Outcome<Accepted>[]>;
  track(workspaceId: string, uid: string): Promise<TrackedMessage>;
  /** Stories of those uids that the workspace has, in no order. */
  stories(workspaceId: string, uids: readonly string[]): Promise<MessageStory[]>;
  list(workspaceId: string, query: MessageList): Promise<{ messages: MessageRecord[]; next: string | null }>;
  /** Fails with `not_cancelable` once a provider has the message or may have it. Repeating it is harmless. */
  cancel(workspaceId: string, uid: string): Promise<TrackedMessage>;
  /** The workspace's due messages that no provider has, by class, as far as this process knows. */
  outboxDepth: OutboxCount['depth'];
  readEvents: EventFeed['read'];
  /** Takes receipts that a provider does not bring through its own `start`. */
  receiptsOf(provider: string): ReceiptSink;
  /** Takes inbound messages from providers that do not bring them through their `start`. */
  inboundOf(provider: string): InboundSink;
  /** Limits of single senders (sender-limit-list.ts). */
  senderLimits: SenderLimitList;
  /** A sender's limit, its own or its channel's (sender-limits.ts). */
  senderRate: SenderLimits['rateOf'];
  /** The state of each channel's account at its carrier, as this process knows it. */
  accounts(): AccountState[];
  /** The same, each with the time since when it stands so. */
  accountStands(): (AccountState & { since: string })[];
  /** Accounts or routes were changed: this process need not wait to learn of it. */
  carriersChanged(): Promise<void>;
  /** Why nothing is handed over by an account in this process, if it could not be opened. */
  accountFault(accountId: string): string | undefined;
  /** Receipts in which the carrier refuses the senders of messages that it had taken. */
  sendersRefused(
    account: { accountId: string; provider: string },
    receipts: readonly RefusedByReceipt[],
  ): Promise<void>;
  /** What of the messages carriers cannot do, before any is sent. Throws `not_found` for an unknown template. */
  findInabilities(question: SendingQuestion): Promise<SendingFinding[]>;
  /** An owner may have put the account right. */
  probeAccount(accountId: string): void;
  /** Whether messages with this tag are held. */
  readHold(workspaceId: string, campaign: string): Promise<boolean>;
  hold(workspaceId: string, campaign: string): Promise<void>;
  release(workspaceId: string, campaign: string): Promise<void>;
  /** A workspace was stopped, or its stop has ended. The call lets this process act on it at once. */
  stopsChanged(): Promise<void>;
  /** Opens this process's partition, takes over those of dead processes, and starts the providers. */
  start(): Promise<void>;
  /** Lets open batches finish, for 5 seconds at most, releases the partitions, and closes the providers. */
  stop(): Promise<void>;
}

const DRAIN_MS = 5_000;

export function createDelivery(deps: {
  db: Kysely<MessagingTables>;
  /** Separate connections, if there are any, so that holds and look-ups do not wait for batches. */
  requestDb?: Kysely<MessagingTables> | undefined;
  templates: TemplateVersions;
  /** Without it, no workspace has a policy. */
  policyOf?: PolicySource | undefined;
  /** Without it, no sender belongs to any workspace. */
  senderRule?: SenderRule | undefined;
  /** Without it, no workspace is ever stopped. */
  stops?: StopRule | undefined;
  /** Of the channels' default accounts. */
  providers: Record<Channel, Provider>;
  /** Without it, there are no accounts but those. */
  carriers?: CarriersDeps | undefined;
  /** Limit of every sender of a channel that has none of its own. */
  senderLimits?: SenderLimitDefaults;
  /** The list-unsubscribe headers of marketing mail; without it, mail has none. */
  listUnsubscribe?: ListUnsubscribe | undefined;
  observer?: DeliveryObserver | undefined;
  /** Without it, messages are not traced. */
  traces?: MessageTraces | undefined;
  /** Requests of this process that marketing messages and receipts let pass. */
  foreground?: Foreground | undefined;
  log: Log;
}): Delivery {
  const {
    db,
    templates,
    policyOf,
    stops,
    providers,
    senderLimits = {},
    listUnsubscribe,
    observer,
    foreground,
    log,
  } = deps;
  const { requestDb = db } = deps;
  const feed = createEventFeed({ db });
  const outbox = createOutboxCount(db);
  const receipts = createReceipts({
    db,
    templates,
    log,
    isUnderWay: (messageId) => dispatcher.isUnderWay(messageId),
    onEvents: feed.notify,
    onCallsEnded: (workspaceId, ids) => limits.callsEnded(workspaceId, ids),
    observer,
    foreground,
  });
  const holds = createHolds({ db: requestDb, stops, onReleased: () => dispatcher.lookAgain() });
  const lanes = createLanes({
    db,
    log,
    onAdopted: (lane) => dispatcher.adoptLane(lane),
    onLost: (lane) => dispatcher.closeLane(lane),
  });
  const limits = createSenderLimits({
    db,
    defaults: senderLimits,
    log,
    onChanged: () => dispatcher.limitsChanged(),
  });
  const dispatcher = new Dispatcher({
    db,
    templates,
    listUnsubscribe,
    wayOf: (message) => carriers?.wayOf(message) ?? defaultWayOf(message),
    preferredWayOf: (message) => carriers?.preferredWayOf(message) ?? defaultWayOf(message),
    closeSender: (refusal) => carriers?.closeSender(refusal),
    isClosed: (accountId, message) => carriers?.isClosed(accountId, message) ?? false,
    lanes,
    holds,
    limits,
    outbox,
    log,
    events: { onEvents: feed.notify, onHandedOver: receipts.handedOver },
    observer,
    traces: deps.traces,
    foreground,
  });
  for (const channel of CHANNELS) {
    const id = defaultAccountId(channel);
    const account = deps.carriers?.environment.find((one) => one.id === id) ?? unnamed(id, channel);
    dispatcher.ways.add({ id: wayId(id, channel), account, provider: providers[channel] });
  }
  const carriers: Carriers | undefined =
    deps.carriers &&
    createCarriers({
      ...deps.carriers,
      ...{ db: requestDb, log },
      async addWay(way) {
        const { provider } = way;
        await provider.start(receipts.sinkOf(provider.name), inbound.sinkOf(provider.name));
        dispatcher.ways.add(way);
      },
      removeWay: (id) => dispatcher.ways.remove(id),
      isDown: (way) => dispatcher.ways.isDown(way),
      onSenderClosed: () => dispatcher.rerouted(),
      onRouted(processes) {
        dispatcher.ways.shareWith(processes);
        dispatcher.rerouted();
      },
    });
  const doubts = createRechecks(() => dispatcher.lookAgain());
  const called = (name: string, channel: Channel) => dispatcher.ways.called(name, channel)?.limiter.provider;
  const withdrawals = createWithdrawals({ db: requestDb, providerOf: (name) => called(name, 'voice'), log });
  const lookUps = createStatusLookup({
    ...{ db, templates, log },
    lookUp: (provider, channel, message) => called(provider, channel)?.lookUp?.(message),
    take: (provider, some) => receipts.sinkOf(provider)(some),
  });
  const acceptance = createAccept({
    db,
    templates,
    policyOf,
    senderRule: deps.senderRule,
    flowWay: (message) => carriers?.flowWayOf(message),
    impossible: impossibleRule(() => carriers, deps.carriers?.unable),
    lanes,
    outbox,
    senders: createSmsSenders(db),
    onAccepted(lane, drafts, atMs) {
      tellMoves(observer, drafts, ({ channel }) => channel);
      dispatcher.offer(
        lane,
        drafts.filter((draft) => draft.state === 'accepted'),
        atMs,
      );
      for (const draft of drafts) {
        if (draft.state === 'scheduled' && draft.sendAt) {
          dispatcher.expect(lane, draft, Date.parse(draft.sendAt));
        }
      }
    },
    onDoubt: doubts.raise,
    onWaiting: (lane, id) => dispatcher.lookFor(lane, id),
    onEvents: feed.notify,
  });
  const cancels = createGroupCommit<string, Canceled | 'already_canceled'>({
    commit: (workspaceId, uids) => cancelMessages(db, workspaceId, uids),
    isPoison: isDataError,
    sizeOf: () => 0,
    countMax: LIMITS.groupCommitMessages,
    bytesMax: LIMITS.groupCommitBytes,
    lingerMs: LIMITS.groupCommitLingerMs,
  });
  const inbound = createInboundMessages({
    db,
    acceptOwn: acceptance.acceptOwn,
    onEvents: feed.notify,
    log,
  });

  return {
    async accept(workspaceId, message) {
      deps.traces?.accepting(workspaceId, [message]);
      const [outcome] = await acceptance.accept(workspaceId, [message]);
      if (!outcome?.ok) throw outcome?.error;
      return outcome.answer;
    },
    acceptMany(workspaceId, messages) {
      deps.traces?.accepting(workspaceId, messages);
      return acceptance.accept(workspaceId, messages);
    },
    track: (workspaceId, uid) => trackMessage(requestDb, workspaceId, uid),
    stories: (workspaceId, uids) =>
      messageStories(requestDb, workspaceId, uids, (message) => {
        const closed = carriers?.closedFor(message);
        if (!closed) return dispatcher.ways.accountFor(message);
        const { account, channel, code, since } = closed;
        return { channel, kind: account.kind, account: account.id, state: 'paused', reason: code, since };
      }),
    list: (workspaceId, query) => listMessages(requestDb, workspaceId, query),
    async cancel(workspaceId, uid) {
      const [outcome] = await cancels.add(workspaceId, [uid]);
      // It has left; a call that still rings is taken back all the same, which its receipt tells.
      if (outcome?.ok === false && isDomainError(outcome.error) && outcome.error.code === 'not_cancelable') {
        await withdrawals.ofMessage(workspaceId, uid);
      }
      if (!outcome?.ok) throw outcome?.error;
      const canceled = outcome.answer;
      if (canceled !== 'already_canceled') {
        dispatcher.canceled(canceled.lane, canceled.id, canceled.cancels);
        if (canceled.wasDue) outbox.change(workspaceId, canceled.class, -1);
        feed.notify(workspaceId);
      }
      return trackMessage(requestDb, workspaceId, uid);
    },
    outboxDepth: outbox.depth,
    readEvents: feed.read,
    receiptsOf: receipts.sinkOf,
    inboundOf: inbound.sinkOf,
    senderLimits: createSenderLimitList({ db, onChanged: limits.refresh }),
    senderRate: limits.rateOf,
    accounts: () => [...dispatcher.ways.all()].map(({ limiter }) => limiter.account),
    accountStands: () =>
      [...dispatcher.ways.all()].map(({ limiter }) => ({
        ...limiter.account,
        since: new Date(limiter.stateSinceMs).toISOString(),
      })),
    carriersChanged: async () => carriers?.refresh(),
    accountFault: (accountId) => carriers?.faultOf(accountId),
    async findInabilities(question) {
      const wish = await wishOf(templates, question);
      const unable = deps.carriers?.unable;
      return carriers && unable ? findInabilities(wish, carriers.reachOf(question), unable) : [];
    },
    async sendersRefused({ accountId, provider }, refusals) {
      const open = (await refusedSenders(requestDb, provider, refusals)).filter(
        (one) => carriers?.isClosed(accountId, one) === false,
      );
      for (const refused of open) await closeSender(requestDb, { accountId, ...refused });
      if (open.length > 0) await carriers?.refresh();
    },
    probeAccount(accountId) {
      dispatcher.ways.probe(accountId);
      dispatcher.wake();
    },
    async hold(workspaceId, campaign) {
      await holds.hold(workspaceId, campaign);
      await withdrawals.ofTag(workspaceId, campaign);
    },
    readHold: holds.readHold,
    release: holds.release,
    stopsChanged: holds.refresh,
    async start() {
      await holds.start();
      await limits.start();
      // Before the first lane is adopted: what is found in it may have been with any account.
      await carriers?.start();
      dispatcher.start();
      await lanes.start();
      await outbox.start();
      receipts.start();
      lookUps.start();
      for (const provider of new Set(Object.values(providers))) {
        await provider.start(receipts.sinkOf(provider.name), inbound.sinkOf(provider.name));
      }
      inbound.start();
    },
    async stop() {
      await inbound.stop();
      await acceptance.idle();
      doubts.stop();
      await lookUps.stop();
      carriers?.stop();
      await dispatcher.stop(DRAIN_MS);
      await dispatcher.ways.closeProviders();
      await receipts.stop();
      holds.stop();
      limits.stop();
      outbox.stop();
      feed.stop();
      await lanes.release();
    },
  };
}

/** Of tests and tools that name no accounts. */
const unnamed = (id: string, channel: Channel): Account => ({
  ...{ id, name: id, kind: 'simulator', channels: [channel], settings: {}, secretNames: [] },
  ...{ workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'environment' },
});
