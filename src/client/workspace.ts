import { type Calls, queryOf, type RequestOptions } from './calls';
import type { CampaignProgress, Channel, Window } from './types';

/** What holds for all that the workspace sends. */
export class Workspace {
  constructor(private readonly calls: Calls) {}

  /** Running campaigns, waiting messages, the state of the accounts, and the results of the last hour. */
  overview(options: RequestOptions = {}): Promise<Overview> {
    return this.calls.get('/api/overview', options);
  }

  policy(options: RequestOptions = {}): Promise<Policy> {
    return this.calls.get('/api/policy', options);
  }

  /** Replaces the whole: what is left out is off. */
  setPolicy(policy: PolicyInput, options: RequestOptions = {}): Promise<Policy> {
    return this.calls.put('/api/policy', policy, options);
  }

  /** Senders that have a limit of their own. */
  senderLimits(
    options: RequestOptions & { channel?: Channel } = {},
  ): AsyncGenerator<SenderLimit, void, undefined> {
    return this.calls.byPage('/api/sender-limit', { limit: 100, channel: options.channel }, options);
  }

  setSenderLimit(limit: SenderLimitInput, options: RequestOptions = {}): Promise<SenderLimit> {
    return this.calls.put('/api/sender-limit', limit, options);
  }

  /** The sender has the limit of its channel again. */
  liftSenderLimit(
    key: { channel: Channel; sender: string },
    options: RequestOptions = {},
  ): Promise<{ channel: Channel }> {
    return this.calls.delete(`/api/sender-limit${queryOf(key)}`, options);
  }
}

type MessageClass = 'marketing' | 'transactional';

export interface PolicyInput {
  /** Names a whole policy, so that no other member may be given with it. */
  preset?: 'consumer';
  quietHours?: (Window & { channels?: Channel[]; classes?: MessageClass[] }) | null;
  caps?: { channels?: Channel[]; max: number; days: number }[] | null;
  allowedSenders?: Partial<Record<Channel, string[] | null>> | null;
  smsOptOutText?: string | { text: string; onlyFirst?: boolean } | null;
  /** Campaigns to more contacts than this start when a second person has approved them. */
  approval?: { above: number; channels?: Channel[] } | null;
}

export interface Overview {
  campaigns: (Pick<CampaignProgress, 'id' | 'phase' | 'counts' | 'ratePerSecond' | 'eta'> & {
    name: string;
  })[];
  outbox: { channel: Channel; due: number; oldestSeconds: number; held: number }[];
  accounts: {
    id: string;
    name: string;
    kind: string;
    state: 'ok' | 'paused' | 'throttled';
    reason?: string;
    since: string;
  }[];
  lastHour: Partial<Record<Channel, { sent: number; delivered: number; failed: number }>>;
}

export interface Policy {
  quietHours: {
    from: string;
    to: string;
    timezone?: string;
    days?: string[];
    channels: Channel[];
    classes: MessageClass[];
  } | null;
  caps: { channels: Channel[]; max: number; days: number }[] | null;
  allowedSenders: Partial<Record<Channel, string[]>> | null;
  smsOptOutText: { text: string; onlyFirst: boolean } | null;
  approval: { above: number; channels: Channel[] } | null;
  /** Grows by one with every change; 0 when none was ever set. */
  version: number;
  updatedAt: string | null;
}

export interface SenderLimitInput {
  channel: Channel;
  sender: string;
  /** A second: emails, SMS segments or calls. */
  rate?: number | null;
  burst?: number | null;
  concurrentCalls?: number | null;
}

export interface SenderLimit {
  channel: Channel;
  sender: string;
  rate: number | null;
  burst: number | null;
  concurrentCalls: number | null;
  updatedAt: string;
}
