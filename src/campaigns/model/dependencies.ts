import type { RawBuilder } from 'kysely';
import type { CallEnding, CallPolicy, CallProgress } from '../../domain/call-policy';
import type { Channel } from '../../domain/channel';
import type { MessageEvent } from '../../domain/message';
import type { MessageStory } from '../../domain/message-history';
import type { SendingFinding, SendingQuestion } from '../../domain/sending-question';

/** What campaigns need of the world outside their tables; src/app supplies the implementations. */

/** Asks the messaging service that the campaign will use about templates, and what can be sent by them. */
export interface TemplateLookup {
  /** `undefined` when the workspace has no such template on that channel, or the template has no such version. */
  find(
    workspaceId: string,
    channel: Channel,
    templateId: string,
    version: number,
  ): Promise<TemplateFound | undefined>;
  /** What the service's carriers cannot do of such messages. Without it, they can do everything. */
  check?(workspaceId: string, messages: SendingQuestion): Promise<readonly SendingFinding[]>;
}

export interface TemplateFound {
  name: string;
  version: number;
  placeholders: string[];
  /** The text of an SMS, whose length is counted before it is sent; the document of a call. */
  text?: string | undefined;
}

/**
 * How fast the service lets a sender send: messages per second or, for SMS, segments. `undefined` when there is
 * no limit, or it is not known here.
 */
export type SenderRate = (sender: {
  workspaceId: string;
  channel: Channel;
  from: string;
}) => number | undefined;

/**
 * SQL: whether the workspace's suppression list forbids this sender an address (api.md 9). The table belongs to
 * the messaging half, but it is in the same database. As a part of the statement that freezes an audience, the
 * rule costs a million contacts at most a million index probes, all at the same moment. By HTTP, or by pages,
 * it would cost as many round trips.
 */
export type SuppressionRule = (
  workspaceId: string,
  message: { channel: Channel; from: string; address: RawBuilder<unknown> },
) => RawBuilder<boolean>;

/**
 * SQL: the suppression entry by which `SuppressionRule` forbids an address, as JSON (`SuppressionEvidence`). It
 * is stored with the contact that was left out, because the entry may be deleted before a person asks why.
 */
export type SuppressionEntry = (
  workspaceId: string,
  message: { channel: Channel; from: string; address: RawBuilder<unknown> },
) => RawBuilder<unknown>;

/**
 * SQL: whether a number knows from this sender how to opt out. If not, the next SMS to it says so
 * (policy.md).
 */
export type NoticeRule = (
  workspaceId: string,
  message: { from: string; address: RawBuilder<unknown> },
) => RawBuilder<boolean>;

/**
 * Why a workspace may not use a sender, if it may not, because another workspace has it. It answers from memory. It
 * applies whichever service a campaign uses, as the senders belong to workspaces of this installation.
 */
export type SenderRule = (
  workspaceId: string,
  sender: { channel: Channel; from: string },
) => string | undefined;

/**
 * Holds a campaign's messages at the service, as far as it can, or releases them. The run does the same; a
 * caller who pauses should not wait for the run.
 */
export interface CampaignHolds {
  hold(workspaceId: string, campaignId: string): Promise<void>;
  release(workspaceId: string, campaignId: string): Promise<void>;
}

/** What still waits at the service of a campaign that is over. */
export interface HeldMessages extends Pick<CampaignHolds, 'release'> {
  /** Cancels it. False when some still waits, or when this process has no access to the workspace's messages. */
  cancelWaiting(workspaceId: string, campaignId: string): Promise<boolean>;
}

export interface RunLaunch {
  runId: string;
  /** 1 at first; one more each time the run is started again after its end. */
  launch: number;
  workspaceId: string;
  campaignId: string;
  /** Not before this time; without it, now. */
  startAt?: Date | undefined;
  /** It was planned, and its time has come: its workflow waits, and is woken. */
  isDue?: boolean;
  /** It has begun, and its shards have slept until now. */
  isAsleep?: boolean;
}

export interface SendLaunch {
  sendId: string;
  workspaceId: string;
  /** As those of a run. */
  startAt?: Date | undefined;
  isDue?: boolean;
}

/** Starts a run's workflow and signals changes to it. The database is the truth in both cases. */
export interface RunLauncher {
  /**
   * Idempotent by `runId` and `launch`. A run whose launch was lost in a crash is launched by the next process.
   * A run whose workflow was ended from outside is launched anew.
   */
  launch(run: RunLaunch): Promise<void>;
  /** The run's `control` has changed; the workflow reads it from the database. A repeated signal is harmless. */
  controlChanged(run: { runId: string; launch: number }): Promise<void>;
}

/** Starts the workflow of a call that has lost its own. Has no effect when the call's workflow runs or has ended well. */
export interface CallReviver {
  reviveCall(call: {
    runId: string;
    seq: number;
    from: number;
    policy: CallPolicy;
    goOn: CallProgress;
  }): Promise<void>;
}

/** Wakes a sleeping run's workflow. Has no effect when it is awake, or has ended. */
export interface RunWaker {
  wakeRun(run: { runId: string; launch: number }): Promise<void>;
}

/** Wakes the workflows of a run's shards, in the same way. */
export interface ShardWaker {
  wakeShards(run: {
    runId: string;
    launch: number;
    shards: readonly { channel: Channel; shard: number }[];
  }): Promise<void>;
}

/** Temporal schedules of recurring campaigns. The database is the truth, and a schedule that differs is corrected. */
export interface CampaignSchedules {
  /** Creates the schedule, or changes it to this. */
  keepSchedule(schedule: {
    campaignId: string;
    workspaceId: string;
    cron: string;
    timezone: string;
    startAt: Date | undefined;
    endAt: Date | undefined;
    isPaused: boolean;
  }): Promise<void>;
  /** Has no effect when there is none. */
  removeSchedule(campaignId: string): Promise<void>;
}

/** What the service that sends a workspace's campaigns reports about its messages. */
export interface EventSource {
  /** Undefined at a service without a feed, and where this process has no credentials for the workspace. */
  feedOf(workspaceId: string): Promise<EventFeed | undefined>;
}

export interface EventFeed {
  /** Returns the events after the cursor. If there are none, it waits for them for `waitSeconds`. */
  readEvents(
    after: string,
    limit: number,
    waitSeconds: number,
  ): Promise<{ events: readonly MessageEvent[]; next: string }>;
}

/** Stories of messages, from the service that sends a workspace's campaigns. */
export interface MessageStories {
  read(workspaceId: string, asked: AskedStories): Promise<ToldStories>;
}

export interface AskedStories {
  uids: readonly string[];
  /** Set when it must be known whether the service holds this campaign. */
  heldCampaign?: string | undefined;
}

/**
 * `events` says whether the service reports what becomes of messages, `held` whether it holds the campaign that was
 * asked about. `untold`: the service has no stories. `away`: it did not answer in time, or this process has no
 * credentials for the workspace.
 */
export type ToldStories =
  | { kind: 'told'; events: boolean; held: boolean; stories: readonly MessageStory[] }
  | { kind: 'untold'; events: boolean; held: false; stories: readonly [] }
  | { kind: 'away'; events: true; held: false; stories: readonly [] };

/** Positions of the feeds in this database, so that a quiet feed need not be read. */
export interface FeedHeads {
  /** Whether the workspace's messages are sent through the service of this database. */
  isOf(workspaceId: string): boolean;
  /** SQL: a text that changes with every event of every workspace. */
  stamp: RawBuilder<string>;
  /** The position of each workspace's feed. */
  read(): Promise<ReadonlyMap<string, number>>;
}

/** Signals a call's end to its workflow. Has no effect when the workflow has ended too. */
export interface CallEndings {
  callEnded(call: { runId: string; seq: number; from: number; attempt: number } & CallEnding): Promise<void>;
}

/** The same for a durable send. */
export interface SendLauncher {
  /** Has no effect while the send's workflow runs. A workflow that has ended is started anew. */
  launchSend(send: SendLaunch): Promise<void>;
  /** The send's row has changed; its workflow reads it. Has no effect when the workflow has ended. */
  wakeSend(sendId: string): Promise<void>;
}

/**
 * SQL: records that a call does its work in this transaction, or begins it with this statement. `attempt` is
 * above 1 when an earlier attempt at the same call did so, at `since`. A call repeated under an Idempotency-Key
 * must not do again what would have another effect by now. For example, repeating the call that scheduled a
 * campaign must not start it.
 */
export type IdempotencyMark = RawBuilder<{ attempt: number; since: string }>;

/** What the messaging half knows about a contact (contact-timeline.ts). */
export interface ContactActivity {
  /** Returns the messages that the messaging half has, and leaves out the others. */
  messagesOf(workspaceId: string, uids: readonly string[]): Promise<ContactMessage[]>;
  /**
   * All messages to these addresses, also those that no campaign sent, as the service tells them: oldest first, from
   * behind the one with the id `after`.
   */
  messagesTo(
    person: { workspaceId: string; addresses: readonly string[] },
    page: { after: string; limit: number },
  ): Promise<{ id: string }[]>;
  /** Suppressions of these addresses now; addresses are given in the form in which they are compared. */
  suppressionsOf(workspaceId: string, addresses: readonly string[]): Promise<ContactBlock[]>;
  /** Suppressions of these addresses that were deleted. */
  liftedOf(workspaceId: string, addresses: readonly string[]): Promise<LiftedBlock[]>;
}

export interface ContactMessage {
  uid: string;
  state: string | null;
  code: string | null;
  events: { at: string; type: string; state: string; code?: string | undefined }[];
}

export interface ContactBlock {
  id: string;
  channel: string;
  address: string;
  /** Empty for every sender. */
  sender: string;
  reason: string;
  source: string;
  since: Date;
  changedAt: Date;
}

export interface LiftedBlock extends Omit<ContactBlock, 'changedAt'> {
  liftedAt: Date;
  liftedBy: string;
}
