import type { CallOutcome } from '../domain/call-policy';
import type { Phase } from '../domain/campaign';
import type { Channel } from '../domain/channel';
import type { StepWhat } from '../domain/explanation';
import type { RecipientState, SkipReason } from '../domain/recipient';
import type { WaitWhy } from '../domain/wait-reasons';
import type { Reason } from './approval-types';

/**
 * What the client takes and gives, written out, so that its users need none of the libraries that the server
 * checks requests with. test/client/types.test.ts holds these against the contracts.
 */
export type { CallOutcome, Channel, Phase, RecipientState, SkipReason, StepWhat, WaitWhy };

export type Params = Record<string, string | number>;

interface Template {
  templateId: string;
  version: number;
}

export interface Window {
  /** `HH:MM`. */
  from: string;
  to: string;
  timezone?: string;
  days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[];
}

export interface Retry {
  maxAttempts?: number;
  initialDelaySeconds?: number;
  backoff?: number;
  maxDelaySeconds?: number;
}

export interface Redial {
  /** Counts calls, the first included. */
  maxAttempts: number;
  delaysSeconds?: number[];
  /** A delay may be longer by up to this share of it. */
  jitter?: number;
}

export interface Redials {
  retry?: Partial<Record<'busy' | 'no_answer' | 'machine' | 'failed', Redial>>;
  maxAttempts?: number;
}

export interface CampaignInput {
  name: string;
  channel: Channel[];
  settings: {
    email?: Template & { fromEmail: string };
    sms?: Template & { shortCode: string };
    voice?: Template & { callerId: string };
  };
  /** May be left out with `recipients`, and with `start: false`. */
  contactListId?: string[];
  /** The campaign's own audience, up to 10,000; `params` are for this campaign alone. */
  recipients?: ContactInput[];
  /** Leaves wrong rows of `recipients` out instead of refusing the campaign. */
  skipInvalid?: boolean;
  /** Id of a draft or scheduled campaign that this call changes. */
  campaignId?: string | null;
  /** Default true; false leaves a draft. */
  start?: boolean;
  params?: Params;
  class?: 'marketing' | 'transactional';
  schedule?: {
    startAt?: string;
    endAt?: string;
    timezone?: string;
    cron?: string;
    misfire?: 'send' | 'skip';
    recipientLocal?: boolean;
  };
  delivery?: {
    ratePerSecond?: number;
    maxConcurrentCalls?: number;
    quietHours?: Window;
    retry?: Retry;
    onUnknown?: 'hold' | 'resend';
    expireAfterSeconds?: number;
  };
  voice?: Redials & {
    machine?: 'speak' | 'hangup' | 'leave_message';
    ringTimeoutSeconds?: number;
    callWindow?: Window;
  };
  strategy?: 'broadcast' | 'fallback';
  fallbackAfterSeconds?: number;
  exclude?: { campaignIds?: string[]; suppressionOnly?: boolean };
  abort?: { failureRate: number; minSample?: number };
  release?: ReleaseRule;
}

export type GateMetric = 'failed' | 'undelivered' | 'rejected' | 'unknown' | 'suppressed';

/** A part of the audience first. A stage has `recipients` or `percent`; without `waitSeconds` it waits for `release`. */
export interface ReleaseRule {
  stages: { recipients?: number; percent?: number; waitSeconds?: number }[];
  gates?: { metric: GateMetric; above: number; minSample: number }[];
  onGate?: 'pause' | 'cancel';
}

export interface CampaignRelease extends ReleaseRule {
  /** The stage that has begun last, 0 before the first; and how many there are. */
  stage: number;
  of: number;
  /** When the next stage begins. */
  next: string | 'manual' | null;
  judged: {
    stage: number;
    at: string;
    metric: GateMetric;
    value: number;
    sample: number;
    passed: boolean;
  }[];
}

export interface Warning {
  path: string;
  code: string;
  message: string;
  severity: 'error' | 'warning';
}

export interface CampaignSummary {
  id: string;
  name: string;
  channel: Channel[];
  status: 'active' | 'paused' | 'completed';
  phase: Phase;
  createdAt: string;
  tags: string[];
  archived: boolean;
}
export type SavedCampaign = CampaignSummary & { warnings: Warning[]; rejected?: RejectedRecipient[] };

/** A row of `recipients` that `skipInvalid` left out, counted from 0; `field` is empty for a row as a whole. */
export interface RejectedRecipient {
  index: number;
  field: string;
  code: string;
  message: string;
}

/** How many recipients are sent to again, in all and by channel. */
export type RetriedCampaign = CampaignSummary & { count: number; retried: Partial<Record<Channel, number>> };

/** How far the release in stages is. */
export type ReleasedCampaign = CampaignSummary & { release: CampaignRelease };

export interface CampaignProgress {
  id: string;
  status: CampaignSummary['status'];
  phase: Phase;
  counts: Partial<Record<Channel, Record<RecipientState | 'total', number>>>;
  skipped: Partial<Record<Channel, Record<SkipReason, number>>>;
  /** Recipients taken on a second, of late; 0 while it stands still. */
  ratePerSecond: number;
  /** When all have been taken on, if it goes on so. */
  eta: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  reason: Reason | null;
  release?: CampaignRelease;
}

export type Campaign = CampaignSummary &
  CampaignProgress &
  Omit<CampaignInput, 'campaignId' | 'start' | 'release' | 'contactListId' | 'recipients' | 'skipInvalid'> & {
    contactListId: string[];
    /** Contacts of the campaign's own audience. */
    inline: number;
    createdBy: string | null;
    approval: { by: string; at: string; contacts: number } | null;
    updatedAt: string;
    /** Id of the current run, or else of the newest. */
    runId: string | null;
    workflowId: string | null;
    /** When its recipients were deleted, because it ended longer ago than records are kept. */
    recipientsDeletedAt: string | null;
    nextRunAt: string | null;
    /** With `recipientLocal`: what recipients' own clocks show then. */
    nextLocalTime: string | null;
    /** Set while the whole workspace is stopped. */
    stopped: Stop | null;
  };

/** One execution of a campaign. */
export interface CampaignRun {
  id: string;
  number: number;
  phase: Phase;
  /** The hour of an occurrence. */
  scheduledFor: string | null;
  /** With `recipientLocal`: what recipients' own clocks show when they are due. */
  localTime: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** When its recipients were deleted, because it ended longer ago than records are kept. */
  recipientsDeletedAt: string | null;
  reason: Reason | null;
  counts: CampaignProgress['counts'];
  skipped: CampaignProgress['skipped'];
  workflowId: string;
}

export interface DryRun {
  channels: Partial<
    Record<
      Channel,
      {
        contacts: number;
        recipients: number;
        skipped: Record<SkipReason, number>;
        segments?: number;
        longest?: number;
        offenders: { contactId: string; missing: string[] }[];
        /** When the first recipients are due, and the last ones. */
        earliest: string | null;
        latest: string | null;
      }
    >
  >;
  durationSeconds: number | null;
  warnings: Warning[];
  rejected?: RejectedRecipient[];
}

export interface Recipient {
  id: string;
  contactId: string;
  channel: Channel;
  address: string | null;
  state: RecipientState;
  outcome: string | null;
  code: string | null;
  attempts: number;
  uid: string;
  /** When they are sent to, or tried again. */
  dueAt: string | null;
  updatedAt: string;
  /** On the voice channel: the latest ones, oldest first. */
  calls?: Call[];
}

export interface Call {
  attempt: number;
  uid: string;
  placedAt: string;
  answeredAt: string | null;
  endedAt: string | null;
  /** Null while it goes on. */
  outcome: CallOutcome | null;
  code: string | null;
  answeredBy: string | null;
  durationMs: number | null;
  digits: string | null;
  /** As the provider reports it; so are `said`, `recording` and `documents`. */
  branch: unknown;
  said: unknown;
  recording: unknown;
  documents: unknown;
}

/** A stop of the workspace: nothing that it sends is handed to any provider. */
export interface Stop {
  since: string;
  /** The user or the client that stopped it. */
  by: string | null;
  reason: string;
}

export interface ContactInput {
  externalId?: string;
  name?: string;
  email?: string;
  phone?: string;
  timezone?: string;
  locale?: string;
  params?: Params;
}

export interface ContactList {
  id: string;
  name: string;
  createdAt: string;
  updatedAt: string;
}
export type ContactListDetail = ContactList & {
  counts: { contacts: number; withEmail: number; withPhone: number };
};

export interface ImportReport {
  received: number;
  created: number;
  updated: number;
  unchanged: number;
  rejected: number;
  errors: { line: number; field: string; code: string; message: string }[];
}

/** One thing that happened to a recipient; `detail` is a sentence that can be read out. */
export interface ExplainedStep {
  at: string;
  what: StepWhat;
  code?: string;
  detail: string;
  data?: Record<string, unknown>;
}

export interface Explanation {
  recipient: Recipient | null;
  /** Where the contact did not become a recipient. */
  skipped?: { channel: Channel; reason: SkipReason; evidence: string };
  summary: string;
  next: { at?: string; why: WaitWhy; detail: string } | null;
  /** Oldest first. */
  steps: ExplainedStep[];
}

/** `others`: the person's other recipients in the campaign. */
export type PersonExplanation = Explanation & { others: string[] };

/** A contact that did not become a recipient. */
export interface SkippedContact {
  contactId: string;
  channel: Channel;
  address: string | null;
  reason: SkipReason;
  evidence: string;
}
