import { type Calls, queryOf, type RequestOptions, route } from './calls';
import type {
  CallOutcome,
  CampaignInput,
  CampaignSummary,
  Channel,
  RecipientState,
  SkipReason,
} from './types';

/** Lists, files and figures of campaigns. What drives one campaign are methods of the client itself. */
export class Campaigns {
  constructor(private readonly calls: Calls) {}

  /** Campaigns with this channel, or with any; newest first unless a `column` is named. */
  list(
    channel: Channel | 'all',
    options: RequestOptions & CampaignSearch = {},
  ): AsyncGenerator<CampaignSummary, void, undefined> {
    const { signal, pageSize = 100, ...search } = options;
    return this.calls.byPage('/api/campaign', { ...search, limit: pageSize, channel }, { signal });
  }

  /** Name, tags and whether it is put away; and of a campaign that goes on, the pace and the limit of calls. Null lifts a limit. */
  change(id: string, change: CampaignChange, options: RequestOptions = {}): Promise<CampaignSummary> {
    return this.calls.patch(route`/api/campaign/${id}`, change, options);
  }

  /** How many recipients are in each state for each reason, the largest count first. */
  outcomes(id: string, options: RequestOptions & { runId?: string } = {}): Promise<RecipientOutcome[]> {
    const query = queryOf({ runId: options.runId });
    return this.calls.get(route`/api/campaign/${id}/outcomes` + query, options);
  }

  /** When recipients entered each state, in at most `points` steps. */
  async timeline(
    id: string,
    options: RequestOptions & { points?: number; runId?: string } = {},
  ): Promise<CampaignTimeline> {
    const query = queryOf({ points: options.points, runId: options.runId });
    const { channels } = await this.calls.get<{ channels: CampaignTimeline }>(
      route`/api/campaign/${id}/timeline` + query,
      options,
    );
    return channels;
  }

  /** Recipients as CSV, of any number. */
  exportRecipients(
    id: string,
    options: RequestOptions & RecipientSearch = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { channel, state, code, search, runId } = options;
    const query = queryOf({ channel, state, code, search, runId });
    return this.calls.bytes(route`/api/campaign/${id}/recipients.csv` + query, options);
  }

  /** Contacts that did not become recipients, as CSV. */
  exportSkipped(
    id: string,
    options: RequestOptions & { channel?: Channel; reason?: SkipReason; runId?: string } = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { channel, reason, runId } = options;
    const query = queryOf({ channel, reason, runId });
    return this.calls.bytes(route`/api/campaign/${id}/skipped.csv` + query, options);
  }

  /** How calls ended. Every call counts, so that a recipient who was called three times counts three times. */
  callSummary(id: string, options: RequestOptions & { runId?: string } = {}): Promise<CallSummary> {
    const query = queryOf({ runId: options.runId });
    return this.calls.get(route`/api/campaign/${id}/calls` + query, options);
  }

  exportCalls(
    id: string,
    options: RequestOptions & { runId?: string } = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const query = queryOf({ runId: options.runId });
    return this.calls.bytes(route`/api/campaign/${id}/calls.csv` + query, options);
  }
}

export interface RecipientOutcome {
  channel: Channel;
  state: RecipientState;
  code: string | null;
  count: number;
}

/** Which recipients are listed: those that match all that is given. */
export interface RecipientSearch {
  channel?: Channel;
  state?: RecipientState;
  code?: string;
  /** How an external id, an email address or a phone number begins. */
  search?: string;
  runId?: string;
}

/** For each channel, how many recipients entered each state between `at` and the next point. */
export type CampaignTimeline = Partial<
  Record<
    Channel,
    { stepSeconds: number; points: ({ at: string } & Partial<Record<RecipientState, number>>)[] }
  >
>;

export interface CampaignSearch {
  search?: string;
  status?: CampaignSummary['status'];
  tag?: string;
  /** Lists archived campaigns instead of the others. */
  archived?: boolean;
  column?: 'name' | 'createdAt' | 'status';
  direction?: 'asc' | 'desc';
  /** Days of UTC as `MM/DD/YYYY`, both included. */
  dateFrom?: string;
  dateTo?: string;
  /** An instant, included; with `createdBefore`, for days of another zone than UTC. */
  createdFrom?: string;
  /** An instant, not included. */
  createdBefore?: string;
  pageSize?: number;
}

/** What may change of a campaign in any phase, and how it is delivered, until it ends. */
export interface CampaignChange {
  name?: string;
  tags?: string[];
  archived?: boolean;
  delivery?: DeliveryChange;
}

export type DeliveryChange = {
  [Name in 'ratePerSecond' | 'maxConcurrentCalls']?: NonNullable<CampaignInput['delivery']>[Name] | null;
};

export interface CallSummary {
  calls: number;
  /** Calls whose end is not known yet. */
  open: number;
  /** Calls that their carrier could not place. They are `failed`, and no attempts. */
  carrierFaults: number;
  outcomes: Partial<Record<CallOutcome, number>>;
}
