import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignDigest } from './approval-types';
import { Calls, type KeyedOptions, queryOf, type RequestOptions, route } from './calls';
import { Campaigns, type RecipientSearch } from './campaigns';
import { Contacts } from './contacts';
import { FanfareError } from './fanfare-error';
import type { AcceptedMessage, DurableMessage, DurableSend, Message, TrackedMessage } from './message-types';
import { Messages } from './messages';
import { watchCampaign } from './progress-stream';
import { Suppressions } from './suppressions';
import { Templates } from './templates';
import { type ClientOptions, clientTransport, type Transport } from './transport';
import type {
  Campaign,
  CampaignInput,
  CampaignProgress,
  CampaignRun,
  CampaignSummary,
  Channel,
  ContactInput,
  ContactList,
  ContactListDetail,
  DryRun,
  Explanation,
  ImportReport,
  PersonExplanation,
  Recipient,
  ReleasedCampaign,
  RetriedCampaign,
  SavedCampaign,
  SkippedContact,
  SkipReason,
  Stop,
} from './types';
import { type Upload, uploaded } from './upload';
import { Webhooks } from './webhooks';
import { Workspace } from './workspace';

export type * from './approval-types';
export type * from './campaigns';
export type * from './contacts';
export { FanfareError, type ValidationIssue as Finding } from './fanfare-error';
export type * from './message-types';
export type * from './messages';
export type * from './suppressions';
export type * from './templates';
export type * from './types';
export type * from './webhooks';
export type * from './workspace';
export type { ClientOptions as FanfareClientOptions, KeyedOptions, RequestOptions, Upload };

/** An outcome that is looked for seldom is learnt late, and one that is looked for often costs. */
const LOOK_MS = { first: 250, last: 5_000 };
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
  readonly campaigns: Campaigns;
  readonly contacts: Contacts;
  readonly messages: Messages;
  readonly suppressions: Suppressions;
  readonly templates: Templates;
  readonly webhooks: Webhooks;
  readonly workspace: Workspace;

  private readonly transport: Transport;
  private readonly app: Calls;
  private readonly sending: Calls;

  constructor(options: ClientOptions) {
    this.transport = clientTransport(options);
    this.app = new Calls(this.transport);
    this.sending = new Calls(this.transport, 'send');
    this.campaigns = new Campaigns(this.app);
    this.contacts = new Contacts(this.app);
    this.messages = new Messages(this.sending);
    this.suppressions = new Suppressions(this.app);
    this.templates = new Templates(this.app);
    this.webhooks = new Webhooks(this.app);
    this.workspace = new Workspace(this.app);
  }

  /** With `recipients`, creates and starts in one call; `country` is the region of phone numbers without one. */
  createCampaign(
    campaign: CampaignInput,
    options: KeyedOptions & { country?: string } = {},
  ): Promise<SavedCampaign> {
    return this.app.once(`/api/campaign${inCountry(options)}`, { campaignId: null, ...campaign }, options);
  }

  /** Sends and creates nothing. */
  dryRun(campaign: CampaignInput, options: RequestOptions & { country?: string } = {}): Promise<DryRun> {
    const path = `/api/campaign/dry-run${inCountry(options)}`;
    return this.app.post(path, { campaignId: null, ...campaign }, options);
  }

  /**
   * Adds recipients to a campaign that has not started, as many as come. An iterator can be sent only once; an array,
   * or a function that makes one, also after a failure.
   */
  appendRecipients(
    id: string,
    recipients: readonly ContactInput[] | AsyncIterable<ContactInput> | (() => AsyncIterable<ContactInput>),
    options: RequestOptions & { country?: string } = {},
  ): Promise<ImportReport> {
    const open = typeof recipients === 'function' ? recipients : () => recipients;
    const canRepeat = typeof recipients === 'function' || Array.isArray(recipients);
    const lines = canRepeat ? () => linesOf(open()) : linesOf(open());
    const path = route`/api/campaign/${id}/recipients` + inCountry(options);
    return uploaded(this.transport, path, 'application/x-ndjson', lines, options);
  }

  campaign(id: string, options: RequestOptions = {}): Promise<Campaign> {
    return this.app.get(route`/api/campaign/${id}`, options);
  }

  /** What a person approves, who logs in for it: a client cannot. */
  digest(id: string, options: RequestOptions = {}): Promise<CampaignDigest> {
    return this.app.get(route`/api/campaign/${id}/digest`, options);
  }

  start(id: string, options: KeyedOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'start', {}, options);
  }

  pause(id: string, options: KeyedOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'pause', {}, options);
  }

  resume(id: string, options: KeyedOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'resume', {}, options);
  }

  cancel(id: string, options: KeyedOptions = {}): Promise<CampaignSummary> {
    return this.act(id, 'cancel', {}, options);
  }

  /**
   * Sends again to those in these states: `failed`, `undelivered` and `unknown` unless said; with `codes` only to those with
   * one of these. `rejected` needs them.
   */
  retryFailed(
    id: string,
    options: KeyedOptions & {
      states?: ('failed' | 'undelivered' | 'unknown' | 'rejected')[];
      codes?: string[];
    } = {},
  ): Promise<RetriedCampaign> {
    const { states, codes } = options;
    return this.act(id, 'retry-failed', { ...(states && { states }), ...(codes && { codes }) }, options);
  }

  /** Lets the next stage of a release go, or more of them; while one is being sent, leaves out the wait that comes. */
  release(id: string, options: KeyedOptions & { stages?: number | 'all' } = {}): Promise<ReleasedCampaign> {
    const { stages } = options;
    return this.act(id, 'release', stages === undefined ? {} : { stages }, options);
  }

  /** The runs of a campaign, newest first: those of a recurring one are its occurrences. */
  runs(
    id: string,
    options: RequestOptions & { pageSize?: number } = {},
  ): AsyncGenerator<CampaignRun, void, undefined> {
    const query = { limit: options.pageSize ?? 100 };
    return this.app.byCursor(route`/api/campaign/${id}/runs`, query, options);
  }

  /** A draft of the same. */
  duplicate(id: string, options: KeyedOptions = {}): Promise<SavedCampaign> {
    return this.app.once(route`/api/campaign/${id}/duplicate`, {}, options);
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
    options: RequestOptions & RecipientSearch & { pageSize?: number } = {},
  ): AsyncGenerator<Recipient, void, undefined> {
    const { channel, state, code, search, runId, pageSize = 1_000 } = options;
    const query = { limit: pageSize, channel, state, code, search, runId };
    return this.app.byCursor(route`/api/campaign/${id}/recipients`, query, options);
  }

  /** Why one recipient was sent something, or was not, and what comes next. */
  explainRecipient(id: string, recipientId: string, options: RequestOptions = {}): Promise<Explanation> {
    const path = route`/api/campaign/${id}/recipients/${recipientId}`;
    return this.app.get(path, options);
  }

  /** Explains a person's part in a campaign, by the contact's id or by an address. */
  explain(
    campaignId: string,
    person: ({ contact: string } | { to: string }) & { channel?: Channel; runId?: string },
    options: RequestOptions = {},
  ): Promise<PersonExplanation> {
    return this.app.get(`/api/explain${queryOf({ campaign: campaignId, ...person })}`, options);
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
    const { channel, reason, runId, pageSize = 1_000 } = options;
    const query = { limit: pageSize, channel, reason, runId };
    return this.app.byCursor(route`/api/campaign/${id}/skipped`, query, options);
  }

  /** One message; its `uid` makes a repetition harmless. */
  send(message: Message, options: RequestOptions = {}): Promise<AcceptedMessage> {
    return this.sending.post('/send-msg', message, options);
  }

  message(uid: string, options: RequestOptions = {}): Promise<TrackedMessage> {
    return this.sending.get(route`/messages/${uid}`, options);
  }

  /** One message with a workflow of its own. */
  sendDurable(message: DurableMessage, options: RequestOptions = {}): Promise<DurableSend> {
    return this.app.post('/api/send', message, options);
  }

  durableSend(id: string, options: RequestOptions = {}): Promise<DurableSend> {
    return this.app.get(route`/api/send/${id}`, options);
  }

  cancelDurable(id: string, options: RequestOptions = {}): Promise<DurableSend> {
    return this.app.delete(route`/api/send/${id}`, options);
  }

  /** What became of a durable send, by its id, or of a message, by its uid, once nothing more is expected. */
  async waitForOutcome(
    idOrUid: string,
    options: RequestOptions & { timeoutMs?: number } = {},
  ): Promise<DurableSend | TrackedMessage> {
    const deadline = Date.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    for (let waitMs = LOOK_MS.first; ; waitMs = Math.min(waitMs * 1.5, LOOK_MS.last)) {
      if (/^snd_[0-9a-z]{19,26}$/.test(idOrUid)) {
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
    return this.app.post('/api/stop', { reason }, options);
  }

  /** Null while the workspace is not stopped. */
  currentStop(options: RequestOptions = {}): Promise<Stop | null> {
    return this.app.get('/api/stop', options);
  }

  async endStop(options: RequestOptions = {}): Promise<void> {
    await this.app.delete('/api/stop', options);
  }

  createContactList(name: string, options: KeyedOptions = {}): Promise<ContactList> {
    return this.app.once('/api/contact-list', { name }, options);
  }

  contactList(id: string, options: RequestOptions = {}): Promise<ContactListDetail> {
    return this.app.get(route`/api/contact-list/${id}`, options);
  }

  async contactLists(
    options: RequestOptions & { page?: number; limit?: number; search?: string } = {},
  ): Promise<ContactList[]> {
    const { page, limit, search } = options;
    return this.app.get(`/api/contact-list${queryOf({ page, limit, search })}`, options);
  }

  /** Up to 10,000 at once. */
  addContacts(
    listId: string,
    contacts: readonly ContactInput[],
    options: RequestOptions & { country?: string } = {},
  ): Promise<ImportReport> {
    const path = route`/api/contact-list/${listId}/contacts` + inCountry(options);
    return this.app.post(path, { contacts }, options);
  }

  /** CSV of any length. A stream can be sent only once; a function that opens one also after a failure. */
  importContacts(
    listId: string,
    csv: Upload,
    options: RequestOptions & { country?: string } = {},
  ): Promise<ImportReport> {
    const path = route`/api/contact-list/${listId}/contacts` + inCountry(options);
    return uploaded(this.transport, path, 'text/csv', csv, options);
  }

  private act<T>(id: string, action: string, json: unknown, options: KeyedOptions): Promise<T> {
    return this.app.once(route`/api/campaign/${id}/${action}`, json, options);
  }
}

const inCountry = ({ country }: { country?: string }): string => queryOf({ country });

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
