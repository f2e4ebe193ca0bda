import type { RawBuilder } from 'kysely';
import type { CallEnding } from '../domain/call-policy';
import type { Channel } from '../domain/channel';
import type { MessageEvent } from '../domain/message';
import type { MessageStory } from '../domain/message-story';

/** What campaigns need of the world outside their tables; src/app gives them the real ones. */

/** Looks a template up at the messaging service that the campaign will be sent through. */
export interface TemplateLookup {
  /** `undefined` when the workspace has no such template on that channel, or it has no such version. */
  find(
    workspaceId: string,
    channel: Channel,
    templateId: string,
    version: number,
  ): Promise<TemplateFound | undefined>;
}

export interface TemplateFound {
  name: string;
  version: number;
  placeholders: string[];
  /** The text of an SMS, whose length is counted before it is sent; the document of a call. */
  text?: string | undefined;
}

/**
 * How fast the service lets a sender go: messages a second, or for SMS segments. `undefined` when it is not
 * limited, or nobody here knows.
 */
export type SenderRate = (sender: {
  workspaceId: string;
  channel: Channel;
  from: string;
}) => number | undefined;

/**
 * SQL: whether the workspace's suppression list forbids this sender an address (api.md 9). The list is the
 * messaging half's and its table nobody else's business, but it is in the same database: as a part of the
 * statement that freezes an audience, its rule costs a million contacts no more than a million probes of an
 * index, and holds for the same moment. By HTTP, or by pages, it would cost as many round trips.
 */
export type SuppressionRule = (
  workspaceId: string,
  message: { channel: Channel; from: string; address: RawBuilder<unknown> },
) => RawBuilder<boolean>;

/**
 * SQL: the entry of the suppression list by which `SuppressionRule` forbids an address, as JSON (`SuppressionEvidence`).
 * It is asked for where the rule has forbidden one, and is kept with the contact that was left out, because the entry
 * may be lifted before a person asks why.
 */
export type SuppressionEntry = (
  workspaceId: string,
  message: { channel: Channel; from: string; address: RawBuilder<unknown> },
) => RawBuilder<unknown>;

/** SQL: whether a sender has told a number how to opt out; who was not told is with the next SMS (policy.md). */
export type NoticeRule = (
  workspaceId: string,
  message: { from: string; address: RawBuilder<unknown> },
) => RawBuilder<boolean>;

/**
 * Keeps a campaign's messages back at the service, as far as it can, or lets them go. Its run does the same;
 * whoever asks for a pause should not wait for that.
 */
export interface CampaignHolds {
  hold(workspaceId: string, campaignId: string): Promise<void>;
  release(workspaceId: string, campaignId: string): Promise<void>;
}

/** Starts a run's workflow and tells it of changes. The database is the truth in both cases. */
export interface RunLauncher {
  /**
   * Idempotent by `runId` and `launch`. A run that was never launched, because of a crash, is launched by the
   * next process, and one whose workflow was ended from outside is launched anew.
   */
  launch(run: {
    runId: string;
    /** 1, and one more each time the run goes on after its end. */
    launch: number;
    workspaceId: string;
    campaignId: string;
    /** Not before; without it, now. */
    startAt?: Date | undefined;
  }): Promise<void>;
  /** The run's `control` has changed; it is read from the database. Repeating it is harmless. */
  controlChanged(run: { runId: string; launch: number }): Promise<void>;
}

/** Wakes a run's workflow that sleeps until something happens. Harmless when it is awake, or has ended. */
export interface RunWaker {
  wakeRun(run: { runId: string; launch: number }): Promise<void>;
}

/** The clocks of recurring campaigns. The database is the truth, and what is not as it says is put right. */
export interface CampaignSchedules {
  /** Makes it, or makes it what this says. */
  keepSchedule(schedule: {
    campaignId: string;
    workspaceId: string;
    cron: string;
    timezone: string;
    startAt: Date | undefined;
    endAt: Date | undefined;
    isPaused: boolean;
  }): Promise<void>;
  /** Harmless when there is none. */
  removeSchedule(campaignId: string): Promise<void>;
}

/** What the service tells of a workspace's messages. */
export interface OutcomeNews {
  /** False at a service that tells nothing beyond its answer. */
  isTold(workspaceId: string): Promise<boolean>;
  /** What is there after the cursor; with nothing there, what comes within `waitSeconds`. */
  read(
    workspaceId: string,
    after: string,
    options: { limit: number; waitSeconds: number },
  ): Promise<{ events: readonly MessageEvent[]; next: string }>;
}

/** What the service through which a workspace's campaigns are sent tells of their messages. */
export interface MessageStories {
  read(workspaceId: string, uids: readonly string[]): Promise<ToldStories>;
}

/**
 * `events`: the service tells what becomes of messages. `untold`: it has nothing to add, because it has no stories;
 * `away`: it did not answer in time, or this process has no credentials for the workspace.
 */
export type ToldStories =
  | { kind: 'told'; events: boolean; stories: readonly MessageStory[] }
  | { kind: 'untold'; events: boolean; stories: readonly [] }
  | { kind: 'away'; events: true; stories: readonly [] };

/** How far the feeds have come that are in this database, so that one that is quiet need not be asked. */
export interface FeedHeads {
  /** Whether the workspace's messages are sent through the service of this database. */
  isOf(workspaceId: string): boolean;
  /** SQL, a text that changes with every event of every workspace. */
  stamp: RawBuilder<string>;
  /** The position of each workspace's feed. */
  read(): Promise<ReadonlyMap<string, number>>;
}

/** Tells a call's workflow that its call has ended. Harmless when the workflow has ended too. */
export interface CallEndings {
  callEnded(call: { runId: string; seq: number; from: number; attempt: number } & CallEnding): Promise<void>;
}

/** The same for a durable send. */
export interface SendLauncher {
  /** Harmless while the send's workflow is running; one that has ended is started anew. */
  launchSend(send: { sendId: string; startAt: Date }): Promise<void>;
  /** Something has happened to the send: its row says what. Harmless when its workflow has ended. */
  wakeSend(sendId: string): Promise<void>;
}

/**
 * SQL: notes that a call does its work in this transaction, or begins it with this statement. `attempt` is above 1 when
 * an earlier attempt at the same call has, at `since`: under an Idempotency-Key, a call that is repeated must not do
 * again what would be another thing by now, such as starting what has been scheduled by starting it.
 */
export type CallNote = RawBuilder<{ attempt: number; since: string }>;

/** What the messaging half knows of a contact (contact-timeline.ts). */
export interface ContactNews {
  /** Those that it has of these. */
  messagesOf(workspaceId: string, uids: readonly string[]): Promise<ContactMessage[]>;
  /** Of addresses as they are compared, now. */
  suppressionsOf(workspaceId: string, addresses: readonly string[]): Promise<ContactBlock[]>;
  /** Those of these that there are no more. */
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
