// Long because every part of the messaging service is put together here, and its whole interface stands beside it.
import type { Kysely } from 'kysely';
import type { MessageList } from '../contracts/messages';
import type { Message, MessageTemplate } from '../contracts/send';
import { type Account, type AccountState, defaultAccountId } from '../domain/account';
import { CHANNELS, type Channel } from '../domain/channel';
import type { FieldError } from '../domain/errors';
import type { MessageStory } from '../domain/message-history';
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
import { type DeliveryObserver, type MessageTraces, tellMoves } from './model/observer';
import type { Accepted, Outcome } from './model/outgoing';
import type { MessagingTables } from './model/tables';
import { createAccept } from './outbox/accept/accept';
import type { PolicySource, SenderRule } from './outbox/accept/policy-rules';
import { createRechecks } from './outbox/accept/recheck';
import { unknownTemplate } from './outbox/accept/validate-message';
import { type Cancellations, createCancellations } from './outbox/cancellations';
import type { ListUnsubscribe } from './outbox/deliver/list-unsubscribe';
import { createStatusLookup } from './outbox/deliver/status-lookup';
import { Dispatcher } from './outbox/dispatch';
import type { StopRule } from './outbox/queue/holds';
import { createHolds } from './outbox/queue/holds';
import { createOutboxCount, type OutboxCount } from './outbox/queue/outbox-count';
import { createPartitions } from './outbox/queue/partitions';
import { createWithdrawals } from './outbox/withdrawals';
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
  /** One outcome per message, in order; each message is checked alone. */
  acceptMany(workspaceId: string, messages: readonly Message[]): Promise<Outcome<Accepted>[]>;
  /** Of what a malformed message names, a template that the workspace does not have. */
  unknownTemplate(workspaceId: string, named: MessageTemplate): Promise<FieldError[]>;
  track(workspaceId: string, uid: string): Promise<TrackedMessage>;
  /** Stories of those uids that the workspace has, in no order. */
  stories(workspaceId: string, uids: readonly string[]): Promise<MessageStory[]>;
  list(workspaceId: string, query: MessageList): Promise<{ messages: MessageRecord[]; next: string | null }>;
  /** As `Cancellations.cancel`, and answers what has become of the message. */
  cancel(workspaceId: string, uid: string): Promise<TrackedMessage>;
  cancelWaiting: Cancellations['cancelWaiting'];
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
  /** The same, each with the time since when it has had its state. */
  accountStands(): (AccountState & { since: string })[];
  /** The same as all processes know it: one that is refused at any of them is `paused`. */
  accountStates(): Promise<(AccountState & { since: string })[]>;
  /** Accounts or routes were changed: this process need not wait to learn of it. */
  carriersChanged(): Promise<void>;
  /** Why nothing is handed over by an account in this process, if it could not be opened. */
  accountFault(accountId: string): string | undefined;
  /**
   * Receipts in which the carrier refuses the senders of messages that it had taken. `provider` is a kind alone where its receipts
   * name no account.
   */
  sendersRefused(provider: string, receipts: readonly RefusedByReceipt[]): Promise<void>;
  /**
   * Before any message is sent, finds what the carriers cannot do of it. Throws `not_found` for an unknown
   * template.
   */
  findInabilities(question: SendingQuestion): Promise<SendingFinding[]>;
  /** An owner may have put the account right. */
  probeAccount(accountId: string): Promise<void>;
  /** Whether messages with this tag are held. */
  readHold(workspaceId: string, campaign: string): Promise<boolean>;
  /** With `aside`, what is held does not count towards the bound of the workspace's outbox. */
  hold(workspaceId: string, campaign: string, aside?: boolean): Promise<void>;
  release(workspaceId: string, campaign: string): Promise<void>;
  /** A workspace was stopped, or its stop has ended. The call lets this process act on it at once. */
  stopsChanged(): Promise<void>;
  /** Opens this process's partition, takes over those of dead processes, and starts the providers. */
  start(): Promise<void>;
  /** Lets open batches finish, for 5 seconds at most, releases the partitions, and closes the providers. */
  stop(): Promise<void>;
}

const DRAIN_MS = 5_000;

interface DeliveryDeps {
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
  /** Providers of the channels' default accounts. */
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
  /** Time between two turns of asking carriers about messages in doubt. Shorter in tests. */
  lookUpMs?: number | undefined;
  log: Log;
}

export function createDelivery(deps: DeliveryDeps): Delivery {
  return new MessageDelivery(deps);
}

class MessageDelivery implements Delivery {
  private readonly requestDb: Kysely<MessagingTables>;
  private readonly feed: EventFeed;
  private readonly outbox: OutboxCount;
  private readonly receipts: ReturnType<typeof createReceipts>;
  private readonly holds: ReturnType<typeof createHolds>;
  private readonly partitions: ReturnType<typeof createPartitions>;
  private readonly limits: SenderLimits;
  private readonly dispatcher: Dispatcher;
  private readonly carriers: Carriers | undefined;
  private readonly doubts: ReturnType<typeof createRechecks>;
  private readonly withdrawals: ReturnType<typeof createWithdrawals>;
  private readonly lookUps: ReturnType<typeof createStatusLookup>;
  private readonly acceptance: ReturnType<typeof createAccept>;
  private readonly cancellations: Cancellations;
  private readonly inbound: ReturnType<typeof createInboundMessages>;
  readonly cancelWaiting: Delivery['cancelWaiting'];
  readonly outboxDepth: Delivery['outboxDepth'];
  readonly readEvents: Delivery['readEvents'];
  readonly receiptsOf: Delivery['receiptsOf'];
  readonly inboundOf: Delivery['inboundOf'];
  readonly senderLimits: Delivery['senderLimits'];
  readonly senderRate: Delivery['senderRate'];
  readonly readHold: Delivery['readHold'];
  readonly stopsChanged: Delivery['stopsChanged'];

  constructor(private readonly deps: DeliveryDeps) {
    const { db, log, templates } = deps;
    this.requestDb = deps.requestDb ?? db;
    this.feed = createEventFeed({ db });
    this.outbox = createOutboxCount(db, { partitions: () => this.partitions.all() });
    this.receipts = this.openReceipts();
    this.holds = createHolds({
      db: this.requestDb,
      stops: deps.stops,
      onReleased: () => this.dispatcher.lookAgain(),
    });
    this.partitions = createPartitions({
      db,
      log,
      onAdopted: (partition) => {
        this.dispatcher.adoptPartition(partition);
        this.withdrawals.resume();
      },
      onLost: (partition) => this.dispatcher.closePartition(partition),
    });
    this.limits = createSenderLimits({
      db,
      defaults: deps.senderLimits ?? {},
      log,
      onChanged: () => this.dispatcher.limitsChanged(),
    });
    this.dispatcher = this.openDispatcher();
    this.carriers = this.openCarriers();
    this.doubts = createRechecks(() => this.dispatcher.lookAgain());
    this.withdrawals = createWithdrawals({
      db: this.requestDb,
      providerOf: (name) => this.called(name, 'voice'),
      log,
    });
    this.lookUps = createStatusLookup({
      ...{ db, templates, log },
      lookUp: (provider, channel, message) => this.called(provider, channel)?.lookUp?.(message),
      take: (provider, some) => this.receipts.sinkOf(provider)(some),
      turnMs: deps.lookUpMs,
    });
    this.acceptance = this.openAcceptance();
    this.cancellations = createCancellations({
      db,
      withdrawals: this.withdrawals,
      onCanceled: (workspaceId, { lane, id, cancels, dueMs, ...of }) => {
        this.dispatcher.canceled(lane, id, cancels);
        this.outbox.change(workspaceId, of, -1, dueMs);
        this.feed.notify(workspaceId);
      },
    });
    this.inbound = createInboundMessages({
      db,
      acceptOwn: this.acceptance.acceptOwn,
      onEvents: this.feed.notify,
      log,
    });
    this.cancelWaiting = this.cancellations.cancelWaiting;
    this.outboxDepth = this.outbox.depth;
    this.readEvents = this.feed.read;
    this.receiptsOf = this.receipts.sinkOf;
    this.inboundOf = this.inbound.sinkOf;
    this.senderLimits = createSenderLimitList({ db: deps.db, onChanged: this.limits.refresh });
    this.senderRate = this.limits.rateOf;
    this.readHold = this.holds.readHold;
    this.stopsChanged = this.holds.refresh;
  }

  readonly accept: Delivery['accept'] = (workspaceId, message) => {
    this.deps.traces?.accepting(workspaceId, [message]);
    return this.acceptance.accept(workspaceId, [message]).then(([outcome]) => {
      if (!outcome?.ok) throw outcome?.error;
      return outcome.answer;
    });
  };

  readonly acceptMany: Delivery['acceptMany'] = (workspaceId, messages) => {
    this.deps.traces?.accepting(workspaceId, messages);
    return this.acceptance.accept(workspaceId, messages);
  };

  readonly unknownTemplate: Delivery['unknownTemplate'] = (workspaceId, named) =>
    unknownTemplate(this.deps.templates, workspaceId, named);

  readonly track: Delivery['track'] = (workspaceId, uid) => trackMessage(this.requestDb, workspaceId, uid);

  readonly stories: Delivery['stories'] = (workspaceId, uids) =>
    messageStories(this.requestDb, workspaceId, uids, (message) => {
      const closed = this.carriers?.closedFor(message);
      if (!closed) return this.dispatcher.ways.accountFor(message);
      const { account, channel, code, since } = closed;
      return { channel, kind: account.kind, account: account.id, state: 'paused', reason: code, since };
    });

  readonly list: Delivery['list'] = (workspaceId, query) => listMessages(this.requestDb, workspaceId, query);

  readonly cancel: Delivery['cancel'] = async (workspaceId, uid) => {
    await this.cancellations.cancel(workspaceId, uid);
    return trackMessage(this.requestDb, workspaceId, uid);
  };

  readonly accounts: Delivery['accounts'] = () =>
    [...this.dispatcher.ways.all()].map(({ limiter }) => limiter.account);

  readonly accountStands: Delivery['accountStands'] = () =>
    [...this.dispatcher.ways.all()].map(({ limiter }) => ({
      ...limiter.account,
      since: new Date(limiter.stateSinceMs).toISOString(),
    }));

  readonly accountStates: Delivery['accountStates'] = async () =>
    this.carriers?.states() ?? this.accountStands();

  readonly carriersChanged: Delivery['carriersChanged'] = async () => this.carriers?.refresh();

  readonly accountFault: Delivery['accountFault'] = (accountId) => this.carriers?.faultOf(accountId);

  readonly findInabilities: Delivery['findInabilities'] = async (question) => {
    const wish = await wishOf(this.deps.templates, question);
    const unable = this.deps.carriers?.unable;
    return this.carriers && unable ? findInabilities(wish, this.carriers.reachOf(question), unable) : [];
  };

  readonly sendersRefused: Delivery['sendersRefused'] = async (provider, refusals) => {
    const open = (await refusedSenders(this.requestDb, provider, refusals)).filter(
      (one) => this.carriers?.isClosed(one.accountId, one) === false,
    );
    for (const refused of open) await closeSender(this.requestDb, refused);
    if (open.length > 0) await this.carriers?.refresh();
  };

  readonly probeAccount: Delivery['probeAccount'] = async (accountId) => {
    this.dispatcher.ways.probe(accountId);
    this.dispatcher.wake();
    await this.carriers?.askForProbe(accountId);
  };

  readonly hold: Delivery['hold'] = async (workspaceId, campaign, aside) => {
    await this.holds.hold(workspaceId, campaign, aside);
    if (aside) this.outbox.held();
    await this.withdrawals.ofTag(workspaceId, campaign);
  };

  readonly release: Delivery['release'] = async (workspaceId, campaign) => {
    await this.holds.release(workspaceId, campaign);
    this.outbox.released(workspaceId, campaign);
  };

  readonly start: Delivery['start'] = async () => {
    await this.holds.start();
    await this.limits.start();
    // Before the first partition is adopted: what is found in it may have been with any account.
    await this.carriers?.start();
    this.dispatcher.start();
    await this.partitions.start();
    await this.outbox.start();
    this.receipts.start();
    this.lookUps.start();
    for (const provider of new Set(Object.values(this.deps.providers))) {
      await provider.start(this.receipts.sinkOf(provider.name), this.inbound.sinkOf(provider.name));
    }
    this.inbound.start();
  };

  readonly stop: Delivery['stop'] = async () => {
    await this.inbound.stop();
    await this.acceptance.idle();
    this.doubts.stop();
    await this.lookUps.stop();
    this.carriers?.stop();
    await this.dispatcher.stop(DRAIN_MS);
    await this.dispatcher.ways.closeProviders();
    await this.receipts.stop();
    this.holds.stop();
    this.limits.stop();
    this.outbox.stop();
    this.feed.stop();
    await this.partitions.release();
  };

  private openReceipts() {
    return createReceipts({
      db: this.deps.db,
      templates: this.deps.templates,
      log: this.deps.log,
      isUnderWay: (messageId) => this.dispatcher.isUnderWay(messageId),
      onEvents: this.feed.notify,
      onCallsEnded: (workspaceId, ids) => this.limits.callsEnded(workspaceId, ids),
      observer: this.deps.observer,
      foreground: this.deps.foreground,
    });
  }

  /** Each channel's default account is there from the beginning. */
  private openDispatcher(): Dispatcher {
    const dispatcher = new Dispatcher({
      db: this.deps.db,
      templates: this.deps.templates,
      listUnsubscribe: this.deps.listUnsubscribe,
      wayOf: (message) => this.carriers?.wayOf(message) ?? defaultWayOf(message),
      preferredWayOf: (message) => this.carriers?.preferredWayOf(message) ?? defaultWayOf(message),
      closeSender: (refusal) => this.carriers?.closeSender(refusal),
      isClosed: (accountId, message) => this.carriers?.isClosed(accountId, message) ?? false,
      partitions: this.partitions,
      holds: this.holds,
      limits: this.limits,
      outbox: this.outbox,
      log: this.deps.log,
      events: {
        onEvents: this.feed.notify,
        onHandedOver: this.receipts.handedOver,
        onLate: this.receipts.cameLate,
      },
      observer: this.deps.observer,
      traces: this.deps.traces,
      foreground: this.deps.foreground,
      onDown: () => this.tellDown(),
    });
    for (const channel of CHANNELS) {
      const id = defaultAccountId(channel);
      const account = this.deps.carriers?.environment.find((one) => one.id === id) ?? unnamed(id, channel);
      dispatcher.ways.add({ id: wayId(id, channel), account, provider: this.deps.providers[channel] });
    }
    return dispatcher;
  }

  private openCarriers(): Carriers | undefined {
    const { carriers } = this.deps;
    return (
      carriers &&
      createCarriers({
        ...carriers,
        ...{ db: this.requestDb, log: this.deps.log },
        addWay: async (way) => {
          const { provider } = way;
          await provider.start(this.receipts.sinkOf(provider.name), this.inbound.sinkOf(provider.name));
          this.dispatcher.ways.add(way);
        },
        removeWay: (id) => this.dispatcher.ways.remove(id),
        isDown: (way) => this.dispatcher.ways.isDown(way),
        ownStates: () => this.accountStands(),
        onPauses: (elsewhere) => {
          this.dispatcher.ways.onPausesElsewhere(elsewhere);
          this.dispatcher.wake();
        },
        onSenderClosed: () => this.dispatcher.rerouted(),
        onRouted: (processes) => {
          this.dispatcher.ways.shareWith(processes);
          this.dispatcher.rerouted();
        },
      })
    );
  }

  /** At once, because another process may wait for what this one has found out. */
  private tellDown(): void {
    this.carriers?.refresh().catch((error: unknown) => {
      this.deps.log.warn(
        { err: error },
        'Other processes do not know yet how an account stands; trying again',
      );
    });
  }

  private openAcceptance() {
    return createAccept({
      db: this.deps.db,
      templates: this.deps.templates,
      policyOf: this.deps.policyOf,
      senderRule: this.deps.senderRule,
      flowWay: (message) => this.carriers?.flowWayOf(message),
      impossible: impossibleRule(() => this.carriers, this.deps.carriers?.unable),
      partitions: this.partitions,
      outbox: this.outbox,
      senders: createSmsSenders(this.deps.db),
      onAccepted: (partition, drafts, atMs) => this.offer(partition, drafts, atMs),
      onDoubt: this.doubts.raise,
      onWaiting: (partition, id) => this.dispatcher.lookFor(partition, id),
      onEvents: this.feed.notify,
    });
  }

  /** Accepted messages are in the table: what is due goes to the queue, the rest is expected at its time. */
  private offer(
    ...[partition, drafts, atMs]: Parameters<Parameters<typeof createAccept>[0]['onAccepted']>
  ): void {
    tellMoves(this.deps.observer, drafts, ({ channel }) => channel);
    this.dispatcher.offer(
      partition,
      drafts.filter((draft) => draft.state === 'accepted'),
      atMs,
    );
    for (const draft of drafts) {
      if (draft.state === 'scheduled' && draft.sendAt) {
        this.dispatcher.expect(partition, draft, Date.parse(draft.sendAt));
      }
    }
  }

  private readonly called = (name: string, channel: Channel) =>
    this.dispatcher.ways.called(name, channel)?.limiter.provider;
}

/** The account of a channel in tests and tools that name none. */
const unnamed = (id: string, channel: Channel): Account => ({
  ...{ id, name: id, kind: 'simulator', channels: [channel], settings: {}, secretNames: [] },
  ...{ workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'environment' },
});
