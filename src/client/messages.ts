import { type Calls, queryOf, type RequestOptions, route } from './calls';
import type { Message, MessageEvent, MessageRecord, MessageState, TrackedMessage } from './message-types';
import type { Channel } from './types';

/** Beyond one message: many at once, what became of them, and holding them back. They need the `apiKey`. */
export class Messages {
  constructor(private readonly calls: Calls) {}

  /** Sends up to 1,000 messages, each checked alone. The answers are in the same order. */
  async sendMany(messages: readonly Message[], options: RequestOptions = {}): Promise<BulkResult[]> {
    const answer = await this.calls.once<{ results: BulkResult[] }>('/send-msg/bulk', { messages }, options);
    return answer.results;
  }

  list(options: RequestOptions & MessageSearch = {}): AsyncGenerator<MessageRecord, void, undefined> {
    const { signal, pageSize = 100, ...search } = options;
    return this.calls.byCursor('/messages', { limit: pageSize, ...search }, { signal });
  }

  /** Possible until it is handed to a provider; after that it fails with `not_cancelable`. */
  cancel(uid: string, options: RequestOptions = {}): Promise<TrackedMessage> {
    return this.calls.delete(route`/messages/${uid}`, options);
  }

  /** How each was handed over, what became of it and what it waits for. A uid that does not exist is left out. */
  explain(uids: readonly string[], options: RequestOptions = {}): Promise<MessageStory[]> {
    return this.calls.get(`/stories${queryOf({ uids: uids.join(' ') })}`, options);
  }

  /** What is accepted and not yet with a provider, by class, and from where on messages are refused. */
  outbox(options: RequestOptions = {}): Promise<Outbox> {
    return this.calls.get('/outbox', options);
  }

  /**
   * Every event of the workspace in one order, for as long as you read. Store `next` together with what you made of
   * `events` and pass it as `after` when you come back, so that none is missed and none is taken twice.
   */
  async *events(
    options: RequestOptions & { after?: string; pageSize?: number; waitSeconds?: number } = {},
  ): AsyncGenerator<{ events: MessageEvent[]; next: string }, void, undefined> {
    const { signal, pageSize = 1_000, waitSeconds = 20 } = options;
    for (let { after } = options; ; ) {
      const query = queryOf({ after, limit: pageSize, wait: waitSeconds });
      const page = await this.calls.whole<{ data: MessageEvent[]; next: string }>(`/events${query}`, {
        signal,
      });
      after = page.next;
      if (page.data.length > 0) yield { events: page.data, next: page.next };
    }
  }

  /** Within a second no message with this tag in its `campaign` is handed to a provider. */
  hold(campaign: string, options: RequestOptions = {}): Promise<Hold> {
    return this.calls.put(route`/holds/${campaign}`, undefined, options);
  }

  isHeld(campaign: string, options: RequestOptions = {}): Promise<Hold> {
    return this.calls.get(route`/holds/${campaign}`, options);
  }

  /** They go on in their order. */
  releaseHold(campaign: string, options: RequestOptions = {}): Promise<Hold> {
    return this.calls.delete(route`/holds/${campaign}`, options);
  }
}

export interface MessageSearch {
  channel?: Channel;
  state?: MessageState;
  campaign?: string;
  /** A time, from which on it was accepted, or a sender. */
  from?: string;
  /** A time, until which it was accepted, or a recipient. */
  to?: string;
  pageSize?: number;
}

export interface BulkResult {
  uid: string | null;
  /** What the message alone would have been answered with. */
  status: number;
  state?: MessageState;
  duplicate?: boolean;
  code?: string;
  message?: string;
  errors?: { path: string; code: string; message: string }[];
  retryAfterSeconds?: number;
}

export interface MessageStory {
  uid: string;
  channel: Channel;
  state: MessageState;
  code?: string;
  account?: string;
  providerId?: string;
  templateId?: string;
  version?: number;
  segments?: number;
  encoding?: 'gsm7' | 'ucs2';
  attempt: number;
  attemptsMax: number;
  updatedAt: string;
  events: {
    at: string;
    type: string;
    state: MessageState;
    code?: string;
    attempt?: number;
    data?: Record<string, unknown>;
  }[];
  /** Null when it is with a carrier, or at its end. */
  waits: { why: string; at?: string; code?: string } | null;
  suppression?: { channel: string; sender: string; reason: string; source: string; since: string };
}

interface ClassDepth {
  undelivered: number;
  /** How many of these each channel has. */
  channels: Record<Channel, number>;
  /** From here on a message is refused with 429. */
  bound: number;
}

export interface Outbox {
  marketing: ClassDepth;
  transactional: ClassDepth;
}

export interface Hold {
  campaign: string;
  held: boolean;
}
