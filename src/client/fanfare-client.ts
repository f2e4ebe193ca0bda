import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignDigest } from './approval-types';
import { FanfareError } from './fanfare-error';
import { watchCampaign } from './progress-stream';
import { type ClientOptions, clientTransport, type Transport } from './transport';
import type {
  AcceptedMessage,
  Campaign,
  CampaignInput,
  CampaignProgress,
  CampaignRun,
  CampaignSummary,
  Channel,
  ContactInput,
  ContactList,
  DryRun,
  DurableMessage,
  DurableSend,
  Explanation,
  ImportReport,
  Message,
  PersonExplanation,
  Recipient,
  RecipientState,
  ReleasedCampaign,
  RetriedCampaign,
  SavedCampaign,
  SkippedContact,
  SkipReason,
  Stop,
  TrackedMessage,
} from './types';

export type * from './approval-types';
export { FanfareError, type Finding } from './fanfare-error';
export type * from './types';
export type { ClientOptions as FanfareClientOptions };

/** Of one call of a method. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
}

/** An outcome that is looked for seldom is learnt late, and one that is looked for often costs. */
const LOOK_MS = { first: 250, last: 5_000 };
const IMPORT_TIMEOUT_MS = 600_000;
const MESSAGE_ENDS = new Set([
  'delivered',
  'undelivered',
  'failed',
  'expired',
  'rejected',
  'suppressed',
  'canceled',
  'unknown',
]);

/**
 * A backend's client of the HTTP API. Calls that fail for the moment are repeated; each logical call creates or
 * changes what it asks for once, however often it is repeated.
 */
export class FanfareClient {
  private readonly transport: Transport;

  constructor(options: ClientOptions) {
    this.transport = clientTransport(options);
  }

  /** With `recipients`, creates and starts in one call; `country` is the region of phone numbers without one. */
  createCampaign(
    campaign: CampaignInput,
    options: RequestOptions & { country?: string } = {},
  ): Promise<SavedCampaign> {
    return this.once(`/api/campaign${inCountry(options)}`, { campaignId: null, ...campaign }, options);
  }

  /** Sends and creates nothing. */
  dryRun(campaign: CampaignInput, options: RequestOptions & { country?: string } = {}): Promise<DryRun> {
    const path = `/api/campaign/dry-run${inCountry(options)}`;
    return this.post(path, { campaignId: null, ...campaign }, options);
  }

  /**
   * Adds recipients to a campaign that has not started, as many as come. An iterator can be sent only once; an array,
   * or a function that makes one, also after a failure.
   */
  async appendRecipients(
    id: string,
    recipients: readonly ContactInput[] | AsyncIterable<ContactInput> | (() => AsyncIterable<ContactInput>),
    options: RequestOptions & { country?: string } = {},
  ): Promise<ImportReport> {
    const open = typeof recipients === 'function' ? recipients : () => recipients;
    const { data } = await this.transport.json<{ data: ImportReport }>({
      method: 'POST',
      path: `/api/campaign/${encodeURIComponent(id)}/recipients${inCountry(options)}`,
      text: {
        type: 'application/x-ndjson',
        open: () => linesOf(open()),
        once: typeof recipients === 'object' && !Array.isArray(recipients),
      },
      timeoutMs: IMPORT_TIMEOUT_MS,
      signal: options.signal,
    });
    return data;
  }

  campaign(id: string, options: RequestOptions = {}): Promise<Campaign> {
    return this.get(`/api/campaign/${encodeURIComponent(id)}`, options);
  }

  /** What a person approves, who logs in for it: a client cannot. */
  digest(id: string, options: RequestOptions = {}): Promise<CampaignDigest> {
    return this.get(`/api/campaign/${encodeURIComponent(id)}/digest`, options);
  }

  start(id: string, options: RequestOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'start', {}, options);
  }

  pause(id: string, options: RequestOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'pause', {}, options);
  }

  resume(id: string, options: RequestOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'resume', {}, options);
  }

  cancel(id: string, options: RequestOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'cancel', {}, options);
  }

  /** Sends again to those in these states: `failed`, `undelivered` and `unknown` unless said. */
  retryFailed(
    id: string,
    options: RequestOptions & { states?: ('failed' | 'undelivered' | 'unknown')[] } = {},
  ): Promise<RetriedCampaign> {
    return this.act(id, 'retry-failed', options.states ? { states: options.states } : {}, options);
  }

  /** Lets the next stage of a release go, or more of them; while one is being sent, leaves out the wait that comes. */
  release(id: string, options: RequestOptions & { stages?: number | 'all' } = {}): Promise<ReleasedCampaign> {
    return this.act(id, 'release', options.stages ? { stages: options.stages } : {}, options);
  }

  /** The runs of a campaign, newest first: those of a recurring one are its occurrences. */
  runs(
    id: string,
    options: RequestOptions & { pageSize?: number } = {},
  ): AsyncGenerator<CampaignRun, void, undefined> {
    const query = new URLSearchParams({ limit: String(options.pageSize ?? 100) });
    return this.pages(`/api/campaign/${encodeURIComponent(id)}/runs`, query, options);
  }

  /** A draft of the same. */
  duplicate(id: string, options: RequestOptions = {}): Promise<SavedCampaign> {
    return this.once(`/api/campaign/${encodeURIComponent(id)}/duplicate`, {}, options);
  }

  /** Progress at least every second while it is running, across restarts of the server, until it has ended. */
  watch(id: string, options: RequestOptions = {}): AsyncGenerator<CampaignProgress, void, undefined> {
    return watchCampaign(this.transport, id, options.signal);
  }

  /** The campaign when it is completed, canceled or failed. */
  async waitForEnd(id: string, options: RequestOptions = {}): Promise<Campaign> {
    for await (const _ of this.watch(id, options));
    return this.campaign(id, options);
  }

  /** All of them, page by page. */
  recipients(
    id: string,
    options: RequestOptions & { channel?: Channel; state?: RecipientState; pageSize?: number } = {},
  ): AsyncGenerator<Recipient, void, undefined> {
    const query = new URLSearchParams({ limit: String(options.pageSize ?? 1_000) });
    if (options.channel) query.set('channel', options.channel);
    if (options.state) query.set('state', options.state);
    return this.pages(`/api/campaign/${encodeURIComponent(id)}/recipients`, query, options);
  }

  /** Why one recipient was sent something, or was not, and what comes next. */
  explainRecipient(id: string, recipientId: string, options: RequestOptions = {}): Promise<Explanation> {
    const path = `/api/campaign/${encodeURIComponent(id)}/recipients/${encodeURIComponent(recipientId)}`;
    return this.get(path, options);
  }

  /** The same of a person, by the contact's id or by an address. */
  explain(
    campaignId: string,
    person: ({ contact: string } | { to: string }) & { channel?: Channel; runId?: string },
    options: RequestOptions = {},
  ): Promise<PersonExplanation> {
    return this.get(`/api/explain?${new URLSearchParams({ campaign: campaignId, ...person })}`, options);
  }

  /** Contacts that did not become recipients, page by page. */
  skipped(
    id: string,
    options: RequestOptions & {
      channel?: Channel;
      reason?: SkipReason;
      runId?: string;
      pageSize?: number;
    } = {},
  ): AsyncGenerator<SkippedContact, void, undefined> {
    const query = new URLSearchParams({ limit: String(options.pageSize ?? 1_000) });
    for (const name of ['channel', 'reason', 'runId'] as const) {
      if (options[name] !== undefined) query.set(name, options[name]);
    }
    return this.pages(`/api/campaign/${encodeURIComponent(id)}/skipped`, query, options);
  }

  /** One message; its `uid` makes a repetition harmless. */
  send(message: Message, options: RequestOptions = {}): Promise<AcceptedMessage> {
    return this.post('/send-msg', message, { ...options, base: 'send' });
  }

  message(uid: string, options: RequestOptions = {}): Promise<TrackedMessage> {
    return this.get(`/messages/${encodeURIComponent(uid)}`, { ...options, base: 'send' });
  }

  /** One message with a workflow of its own. */
  sendDurable(message: DurableMessage, options: RequestOptions = {}): Promise<DurableSend> {
    return this.post('/api/send', message, options);
  }

  durableSend(id: string, options: RequestOptions = {}): Promise<DurableSend> {
    return this.get(`/api/send/${encodeURIComponent(id)}`, options);
  }

  async cancelDurable(id: string, options: RequestOptions = {}): Promise<DurableSend> {
    const path = `/api/send/${encodeURIComponent(id)}`;
    const { data } = await this.transport.json<{ data: DurableSend }>({ method: 'DELETE', path, ...options });
    return data;
  }

  /** What became of a durable send, by its id, or of a message, by its uid, once nothing more is expected. */
  async waitForOutcome(
    idOrUid: string,
    options: RequestOptions & { timeoutMs?: number } = {},
  ): Promise<DurableSend | TrackedMessage> {
    const deadline = Date.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    for (let waitMs = LOOK_MS.first; ; waitMs = Math.min(waitMs * 1.5, LOOK_MS.last)) {
      if (/^snd_[0-9a-z]{26}$/.test(idOrUid)) {
        const send = await this.durableSend(idOrUid, options);
        if (send.finishedAt !== null) return send;
      } else {
        const message = await this.message(idOrUid, options);
        if (MESSAGE_ENDS.has(message.state)) return message;
      }
      if (Date.now() + waitMs > deadline) {
        throw new FanfareError(`${idOrUid} has no outcome yet`, { code: 'timed_out', status: 0 });
      }
      await delay(waitMs, undefined, options.signal ? { signal: options.signal } : {});
    }
  }

  /** Nothing of the workspace is handed to any provider until `endStop`; a second stop keeps the first's reason. */
  stop(reason: string, options: RequestOptions = {}): Promise<Stop> {
    return this.post('/api/stop', { reason }, options);
  }

  /** Null while the workspace is not stopped. */
  currentStop(options: RequestOptions = {}): Promise<Stop | null> {
    return this.get('/api/stop', options);
  }

  async endStop(options: RequestOptions = {}): Promise<void> {
    await this.transport.json({ method: 'DELETE', path: '/api/stop', ...options });
  }

  createContactList(name: string, options: RequestOptions = {}): Promise<ContactList> {
    return this.once('/api/contact-list', { name }, options);
  }

  contactList(id: string, options: RequestOptions = {}): Promise<ContactList> {
    return this.get(`/api/contact-list/${encodeURIComponent(id)}`, options);
  }

  async contactLists(
    options: RequestOptions & { page?: number; limit?: number; search?: string } = {},
  ): Promise<ContactList[]> {
    const query = new URLSearchParams();
    for (const name of ['page', 'limit', 'search'] as const) {
      if (options[name] !== undefined) query.set(name, String(options[name]));
    }
    return this.get(`/api/contact-list?${query}`, options);
  }

  /** Up to 10,000 at once. */
  addContacts(listId: string, contacts: ContactInput[], options: RequestOptions = {}): Promise<ImportReport> {
    return this.post(`/api/contact-list/${encodeURIComponent(listId)}/contacts`, { contacts }, options);
  }

  /** CSV of any length. A stream can be sent only once; a function that opens one also after a failure. */
  async importContacts(
    listId: string,
    csv: string | AsyncIterable<string | Uint8Array> | (() => AsyncIterable<string | Uint8Array>),
    options: RequestOptions & { country?: string } = {},
  ): Promise<ImportReport> {
    const open = typeof csv === 'function' ? csv : () => csv;
    const { data } = await this.transport.json<{ data: ImportReport }>({
      method: 'POST',
      path: `/api/contact-list/${encodeURIComponent(listId)}/contacts${inCountry(options)}`,
      text: { type: 'text/csv', open, once: typeof csv === 'object' },
      timeoutMs: IMPORT_TIMEOUT_MS,
      signal: options.signal,
    });
    return data;
  }

  private async *pages<T>(
    path: string,
    query: URLSearchParams,
    { signal }: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const page = await this.transport.json<{ data: T[]; next: string | null }>({
        method: 'GET',
        path: `${path}?${query}`,
        signal,
      });
      yield* page.data;
      if (page.next === null) return;
      query.set('cursor', page.next);
    }
  }

  private async get<T>(path: string, options: RequestOptions & { base?: 'send' }): Promise<T> {
    const { signal, base } = options;
    return (await this.transport.json<{ data: T }>({ method: 'GET', path, signal, base: base ?? 'app' }))
      .data;
  }

  private async post<T>(
    path: string,
    json: unknown,
    options: RequestOptions & { base?: 'send'; headers?: Record<string, string> },
  ): Promise<T> {
    const { signal, base, headers = {} } = options;
    const call = { method: 'POST', path, json, signal, headers, base: base ?? 'app' } as const;
    return (await this.transport.json<{ data: T }>(call)).data;
  }

  /** Under a key of its own, so that its repetitions are known for what they are. */
  private once<T>(path: string, json: unknown, options: RequestOptions): Promise<T> {
    return this.post(path, json, { signal: options.signal, headers: { 'idempotency-key': randomUUID() } });
  }

  private act<T>(id: string, action: string, json: unknown, options: RequestOptions): Promise<T> {
    return this.once(`/api/campaign/${encodeURIComponent(id)}/${action}`, json, options);
  }
}

const inCountry = ({ country }: { country?: string }): string =>
  country ? `?country=${encodeURIComponent(country)}` : '';

/** Characters of one chunk: a chunk a row would cost more than the row. */
const CHUNK_CHARS = 64_000;

async function* linesOf(
  rows: Iterable<ContactInput> | AsyncIterable<ContactInput>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  let chunk = '';
  for await (const row of rows) {
    chunk += `${JSON.stringify(row)}\n`;
    if (chunk.length < CHUNK_CHARS) continue;
    yield encoder.encode(chunk);
    chunk = '';
  }
  if (chunk !== '') yield encoder.encode(chunk);
}
