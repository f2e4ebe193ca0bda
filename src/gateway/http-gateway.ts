import type { Channel } from '../domain/channel';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { MessageEvent } from '../domain/message';
import type { MessageStory } from '../domain/message-history';
import type { SendingFinding, SendingQuestion } from '../domain/sending-question';
import { ANY_PLACEHOLDER, ifThere, placeholdersOf, UNSUBSCRIBE_URL } from '../domain/template';
import type {
  CancelAnswer,
  Capability,
  Gateway,
  OutgoingMessage,
  RoomKind,
  SendAnswer,
  TemplateInfo,
} from './gateway';
import { inBulks, toBody } from './message-body';
import { type FreeRoom, type OutboxAnswer, OutboxRoom, roomOf } from './outbox-room';
import { bulkAnswers, lostAnswer, messageAnswer, NOT_SENT, strangeAnswer } from './send-answer';
import { SendThread } from './send-thread';
import { SingleSends } from './single-sends';
import { requestToken, type Token, TokenSource } from './token-source';
import {
  type HttpAnswer,
  isUnexpected,
  openTransport,
  refusal,
  type Transport,
  UnexpectedResponses,
} from './transport';

export interface GatewayOptions {
  authUrl: string;
  sendUrl: string;
  appUrl: string;
  clientId: string;
  clientSecret: string;
  apiKey: string;
  /** A hosted service may accept only a cookie at its template endpoints. */
  sessionCookie?: string | undefined;
  /** Headers by which a service like our own goes on with a trace. */
  traceHeaders?: (() => Record<string, string>) | undefined;
  /** Sent with every request that has a token. */
  ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** Shared by the gateways of a process. */
  sendThread?: SendThread | undefined;
  /** Runs before a token is requested; if it fails, the request for a token fails. The key in its answer is used from then on. */
  beforeToken?: (() => Promise<{ apiKey: string } | undefined>) | undefined;
}

export function openGateway(options: GatewayOptions): Gateway {
  return new HttpGateway(options);
}

interface CallOptions {
  body?: string;
  timeoutMs?: number;
  connections?: number;
  isTraced?: boolean;
}

type Endpoint = 'auth' | 'send' | 'app';
type Call = [
  base: 'send' | 'app',
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  options?: CallOptions,
];

class HttpGateway implements Gateway {
  private readonly transports = new Map<`${Endpoint} ${number}`, Transport>();
  private headersOfToken: { token?: Token } & Partial<Record<'send' | 'app', Record<string, string>>> = {};
  /** By whether the service knows our additions. */
  private readonly sends = new Map<boolean, SingleSends>();
  private readonly thread: SendThread;
  private readonly tokens: TokenSource;
  private apiKey: string;
  readonly room = new OutboxRoom(() => this.askRoom());
  private readonly strangeSends = new UnexpectedResponses();
  private readonly strangeTokens = new UnexpectedResponses();

  constructor(private readonly options: GatewayOptions) {
    this.apiKey = options.apiKey;
    this.thread = options.sendThread ?? new SendThread();
    this.tokens = new TokenSource(() => this.fetchToken());
  }

  async capabilities(): Promise<ReadonlySet<Capability>> {
    const known = new Set((await this.tokens.get()).capabilities as Capability[]);
    if (!known.has('bulk')) this.singleSends(known.size > 0);
    return known;
  }

  async findTemplate(
    channel: Channel,
    templateId: string,
    version: number,
  ): Promise<TemplateInfo | undefined> {
    const known = await this.capabilities();
    return known.size
      ? this.findOwnTemplate(channel, templateId, version)
      : this.findListedTemplate(channel, templateId);
  }

  async checkSending({
    templateId,
    version,
    class: kind,
    ...of
  }: SendingQuestion): Promise<SendingFinding[]> {
    const known = await this.capabilities();
    if (!known.has('checks')) return [];
    const query = new URLSearchParams({
      ...of,
      'template-id': templateId,
      ...(version === undefined ? {} : { version: String(version) }),
      ...(kind === undefined ? {} : { class: kind }),
    });
    const answer = await this.call('send', 'GET', `/send-msg/check?${query}`);
    if (answer.status !== 200) throw refusal('GET /send-msg/check', answer);
    return (answer.body as { data: { findings: SendingFinding[] } }).data.findings;
  }

  async send(messages: readonly OutgoingMessage[], stopped?: AbortSignal): Promise<SendAnswer[]> {
    const known = await this.capabilities();
    const [first] = messages;
    if (!first) return [];
    if (known.has('bulk') && messages.length > 1) return this.sendBulk(messages);
    if (stopped?.aborted) return messages.map(() => NOT_SENT);
    const extended = known.size > 0;
    if (messages.length === 1 && !stopped) return [await this.sendOne(first, extended)];
    const bodies = messages.map((message) => JSON.stringify(toBody(message, extended)));
    return this.singleSends(extended).send({ campaign: first.campaign ?? '', bodies, stopped });
  }

  async readEvents(
    after: string,
    limit: number,
    waitSeconds: number,
  ): Promise<{ events: MessageEvent[]; next: string }> {
    const query = new URLSearchParams({ limit: String(limit), wait: String(waitSeconds) });
    if (after) query.set('after', after);
    const timeoutMs = waitSeconds * 1000 + LIMITS.gatewayTimeoutMs;
    const answer = await this.call('send', 'GET', `/events?${query}`, { timeoutMs });
    // The reader was away for longer than the service keeps events. Read the events that are left, because
    // otherwise it would never get any.
    if (answer.status === 410 && after) return this.readEvents('', limit, waitSeconds);
    if (answer.status !== 200) throw refusal('GET /events', answer);
    const body = answer.body as { data: MessageEvent[]; next: string };
    return { events: body.data, next: body.next };
  }

  async stories(uids: readonly string[]): Promise<MessageStory[]> {
    const query = new URLSearchParams({ uids: uids.join(' ') });
    const answer = await this.call('send', 'GET', `/stories?${query}`, { timeoutMs: LIMITS.storyTimeoutMs });
    if (answer.status !== 200) throw refusal('GET /stories', answer);
    return (answer.body as { data: MessageStory[] }).data;
  }

  private async askRoom(): Promise<ReadonlyMap<RoomKind, FreeRoom> | undefined> {
    const answer = await this.call('send', 'GET', '/outbox');
    return answer.status === 200 ? roomOf((answer.body as { data: OutboxAnswer }).data) : undefined;
  }

  async isHeld(campaign: string): Promise<boolean> {
    const path = `/holds/${encodeURIComponent(campaign)}`;
    const answer = await this.call('send', 'GET', path, { timeoutMs: LIMITS.storyTimeoutMs });
    if (answer.status === 404 || answer.status === 405) return false;
    if (answer.status !== 200) throw refusal('GET /holds', answer);
    return (answer.body as { data: { held: boolean } }).data.held;
  }

  async hold(campaign: string): Promise<void> {
    // What a paused campaign has in the outbox leaves room for the others. A service that does not know this ignores it.
    const answer = await this.call('send', 'PUT', `/holds/${encodeURIComponent(campaign)}?aside=true`);
    if (answer.status >= 300) throw refusal('PUT /holds', answer);
  }

  async release(campaign: string): Promise<void> {
    const answer = await this.call('send', 'DELETE', `/holds/${encodeURIComponent(campaign)}`);
    if (answer.status >= 300 && answer.status !== 404) throw refusal('DELETE /holds', answer);
  }

  async waitingOf(campaign: string): Promise<string[]> {
    for (let cursor = ''; ; ) {
      const query = new URLSearchParams({ campaign, state: 'accepted' });
      if (cursor) query.set('cursor', cursor);
      const answer = await this.call('send', 'GET', `/messages?${query}`);
      if (answer.status !== 200) throw refusal('GET /messages', answer);
      const { data, next } = answer.body as { data: { uid: string }[]; next: string | null };
      // A page may be empty although others follow, because the service looks at so many messages for each.
      if (data.length > 0 || next === null) return data.map(({ uid }) => uid);
      cursor = next;
    }
  }

  async cancel(uid: string): Promise<CancelAnswer> {
    const answer = await this.call('send', 'DELETE', `/messages/${encodeURIComponent(uid)}`);
    if (answer.status === 404) return 'absent';
    if (answer.status === 409) return 'late';
    if (answer.status >= 300) throw refusal('DELETE /messages', answer);
    return 'canceled';
  }

  async close(): Promise<void> {
    for (const sends of this.sends.values()) sends.close();
    await Promise.all([...this.transports.values()].map((transport) => transport.close()));
  }

  /** No async functions here and in `call`: five promises fewer for each message made single sends 3 % faster. */
  private sendOne(message: OutgoingMessage, extended: boolean): Promise<SendAnswer> {
    const body = JSON.stringify(toBody(message, extended));
    const call = { body, connections: sendsAtOnce(extended), isTraced: extended };
    return this.call('send', 'POST', '/send-msg', call).then((answer) => this.meaning(answer), lostAnswer);
  }

  /** Sends the messages one request after the other, in as few as the service's limit for a body allows. */
  private async sendBulk(messages: readonly OutgoingMessage[]): Promise<SendAnswer[]> {
    const answers: SendAnswer[] = [];
    for (const bodies of inBulks(messages.map((message) => JSON.stringify(toBody(message, true))))) {
      try {
        const body = `{"messages":[${bodies.join(',')}]}`;
        const answer = await this.call('send', 'POST', '/send-msg/bulk', { body, isTraced: true });
        this.room.learn(answer);
        answers.push(...bulkAnswers(answer, bodies.length, this.strange(answer)));
      } catch (error) {
        const lost = lostAnswer(error);
        answers.push(...bodies.map(() => lost));
      }
    }
    return answers;
  }

  private meaning(answer: HttpAnswer): SendAnswer {
    this.room.learn(answer);
    return this.strange(answer) ?? messageAnswer(answer);
  }

  /** The meaning of an answer that does not concern a message; undefined for an answer that may. */
  private strange(answer: HttpAnswer): SendAnswer | undefined {
    if (isUnexpected(answer)) return strangeAnswer(answer, this.strangeSends.note());
    // Below 500 the service itself has answered; above, a proxy on the way may have failed.
    if (answer.status < 500) this.strangeSends.over();
    return undefined;
  }

  private async findOwnTemplate(
    channel: Channel,
    id: string,
    version: number,
  ): Promise<TemplateInfo | undefined> {
    const path = `/api/template/${encodeURIComponent(id)}?version=${version}`;
    const answer = await this.call('app', 'GET', path);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw refusal('GET /api/template', answer);
    const { template } = answer.body as { template: Record<string, unknown> };
    if (template.channel !== channel) return undefined;
    const info = templateInfo(template, version);
    // Our own service fills this placeholder itself.
    const placeholders = info.placeholders.map((name) =>
      channel === 'email' && name === UNSUBSCRIBE_URL ? ifThere(name) : name,
    );
    return { ...info, placeholders };
  }

  /** The specification has only a list with pages, which shows an email's subject and not its body. */
  private async findListedTemplate(channel: Channel, id: string): Promise<TemplateInfo | undefined> {
    for (let page = 1; page <= LIMITS.templatePages; page++) {
      const answer = await this.call('app', 'GET', `/api/template/?channel=${channel}&page=${page}`);
      if (answer.status !== 200) throw refusal('GET /api/template/', answer);
      const { templates, pageSize, total } = (answer.body ?? {}) as {
        templates?: Record<string, unknown>[];
        pageSize?: number;
        total?: number;
      };
      if (!Array.isArray(templates)) {
        throw new DomainError('dependency_down', 'The messaging service answered a list without templates');
      }
      const found = templates.find((template) => template.id === id);
      if (found) return templateInfo(found, Number(found.version ?? 1));
      if (!templates.length || page * (pageSize ?? templates.length) >= (total ?? Infinity)) return undefined;
    }
    return undefined;
  }

  /** Opened before the first message is sent, because the thread takes a moment to start. */
  private singleSends(extended: boolean): SingleSends {
    const known = this.sends.get(extended);
    if (known) return known;
    const deps = {
      tokens: this.tokens,
      headers: (token: Token) => this.headersWith('send', token, extended),
      meaning: (answer: HttpAnswer) => this.meaning(answer),
    };
    const pool = this.thread.openPool(this.options.sendUrl, sendsAtOnce(extended));
    const opened = new SingleSends(deps, pool);
    this.sends.set(extended, opened);
    return opened;
  }

  /** Makes a call with the present token, and once more with a new one if it is refused. */
  private call(...call: Call): Promise<HttpAnswer> {
    const { valid } = this.tokens;
    return valid ? this.callWith(valid, call) : this.tokens.get().then((token) => this.callWith(token, call));
  }

  private callWith(token: Token, call: Call, isLast = false): Promise<HttpAnswer> {
    return this.request(token, ...call).then((answer) => {
      if (answer.status !== 401) this.tokens.worked(token);
      else if (!isLast && this.tokens.refused(token))
        return this.tokens.get().then((next) => this.callWith(next, call, true));
      return answer;
    });
  }

  private request(token: Token, ...[base, method, path, options = {}]: Call): Promise<HttpAnswer> {
    const { connections, isTraced, ...request } = options;
    const headers = this.headersWith(base, token, isTraced);
    return this.transport(base, connections).request(method, path, { ...request, headers });
  }

  private headersWith(
    base: 'send' | 'app',
    token: Token,
    isTraced = false,
  ): Readonly<Record<string, string>> {
    const own = this.headers(base, token);
    const trace = isTraced ? this.options.traceHeaders?.() : undefined;
    return trace ? { ...own, ...trace } : own;
  }

  /** Made once for each token, because a single send costs less than 70 µs. */
  private headers(base: 'send' | 'app', token: Token): Readonly<Record<string, string>> {
    const { [base]: known, token: ofToken } = this.headersOfToken;
    if (known && ofToken === token) return known;
    const headers: Record<string, string> = {
      authorization: `Bearer ${token.accessToken}`,
      ...this.options.ownHeaders,
    };
    if (base === 'send') headers['x-api-key'] = this.apiKey;
    else if (this.options.sessionCookie) headers.cookie = `session_token=${this.options.sessionCookie}`;
    this.headersOfToken = { ...(ofToken === token ? this.headersOfToken : { token }), [base]: headers };
    return headers;
  }

  private async fetchToken(): Promise<Token> {
    const admitted = await this.options.beforeToken?.();
    if (admitted) this.apiKey = admitted.apiKey;
    return requestToken(this.transport('auth'), this.options, this.strangeTokens);
  }

  /**
   * One pool per endpoint and size, also where endpoints share an address. Slow templates must not hold up sends, and
   * single sends, which have a larger pool, must not hold up holds.
   */
  private transport(endpoint: Endpoint, connections: number = LIMITS.sendConcurrency): Transport {
    const key = `${endpoint} ${connections}` as const;
    const known = this.transports.get(key);
    if (known) return known;
    const transport = openTransport(this.options[`${endpoint}Url`], connections);
    this.transports.set(key, transport);
    return transport;
  }
}

/** Requests to the send endpoint that are under way at the same time. */
function sendsAtOnce(extended: boolean): number {
  return extended ? LIMITS.sendConcurrencyKnown : LIMITS.sendConcurrency;
}

/** A template whose body is not shown may contain any placeholder. */
function templateInfo(template: Record<string, unknown>, version: number): TemplateInfo {
  const body = typeof template.body === 'string' ? template.body : undefined;
  const texts = [template.subject, body, ...flowTexts(template.voiceJson)];
  const placeholders = placeholdersOf(...texts.filter((text) => typeof text === 'string'));
  return {
    name: String(template.templateName),
    version,
    placeholders: body === undefined ? [...placeholders, ANY_PLACEHOLDER] : placeholders,
    text: template.channel === 'email' ? undefined : body,
  };
}

function flowTexts(flow: unknown): unknown[] {
  const nodes = (flow as { nodes?: unknown } | null | undefined)?.nodes;
  if (!Array.isArray(nodes)) return [];
  return nodes.map((node: { data?: { text?: unknown } | null } | null) => node?.data?.text);
}
