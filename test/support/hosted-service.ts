import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkMessage, type HostedMessage, type HostedTemplate, listed } from './hosted-shapes';
import { reply } from './reply';

export type { HostedMessage, HostedTemplate };

/**
 * A messaging service as messaging-service.md describes it, and nothing else: six endpoints, tokens that end
 * soon, no event feed, no memory of a uid. Whatever is asked of it that the specification does not have is
 * refused and kept as a violation. It is made from the specification alone and shares nothing with the product.
 */
export class HostedService {
  readonly credentials = {
    FANFARE_CLIENT_ID: 'hosted-client',
    FANFARE_CLIENT_SECRET: 'hosted:secret',
    FANFARE_API_KEY: 'hosted-key',
    FANFARE_SESSION_COOKIE: 'hosted-session',
  };
  readonly violations: string[] = [];
  readonly tokens: IssuedToken[] = [];
  /** Sends that were refused for want of a token that is good. */
  refusals = 0;
  /** What it took on, and what it was asked to take on. */
  readonly taken: HostedMessage[] = [];
  readonly offered: HostedMessage[] = [];
  templates: HostedTemplate[] = [];
  /** What goes wrong with a message that is offered for the nth time. */
  trouble: (message: HostedMessage, times: number) => Trouble | undefined = () => undefined;
  answerMs = 0;
  private readonly timesOffered = new Map<string, number>();
  private readonly server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => this.handle(request, text, response));
  });

  private readonly endpoints: Record<string, (call: Call) => void> = {
    'POST /api/v1/auth/token': (call) => this.token(call),
    'POST /send-msg': (call) => this.send(call),
    'GET /api/template/': (call) => this.list(call),
  };

  constructor(
    private readonly options: {
      tokenSeconds: number;
      /** How far its clock is ahead of everybody else's. */
      clockAheadMs?: number;
      pageSize?: number;
    },
  ) {}

  async start(): Promise<Record<string, string>> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return { FANFARE_AUTH_URL: url, FANFARE_SEND_URL: url, FANFARE_APP_URL: url, ...this.credentials };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /** Forgets what it was asked to take on, as for new people at the same addresses. */
  forget(): void {
    for (const list of [this.taken, this.offered]) list.length = 0;
    this.timesOffered.clear();
    this.trouble = () => undefined;
    this.answerMs = 0;
  }

  private now(): number {
    return Date.now() + (this.options.clockAheadMs ?? 0);
  }

  private handle(request: IncomingMessage, text: string, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'http://hosted');
    response.setHeader('date', new Date(this.now()).toUTCString());
    const refuse = (status: number, why: string): void => {
      this.violations.push(`${request.method} ${url.pathname}: ${why}`);
      reply(response, status, {});
    };
    const strange = Object.keys(request.headers).filter((name) => !HEADERS.has(name));
    const endpoint = strange.length ? undefined : this.endpoints[`${request.method} ${url.pathname}`];
    if (strange.length) refuse(400, `headers ${strange.join(', ')}`);
    else if (endpoint) endpoint({ request, url, body: parse(text), response, refuse });
    else refuse(404, 'not in the specification');
  }

  private token({ request, body, response, refuse }: Call): void {
    const { FANFARE_CLIENT_ID: id, FANFARE_CLIENT_SECRET: secret } = this.credentials;
    const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    const fields = (body ?? {}) as Record<string, unknown>;
    const isStrange = Object.keys(fields).some((name) => !['grant_type', 'valid_hour'].includes(name));
    if (request.headers.authorization !== basic) {
      refuse(401, 'wrong client credentials');
    } else if (isStrange || fields.grant_type !== 'client_credentials') {
      refuse(400, 'wrong body');
    } else {
      const validTill = Math.floor((this.now() + this.options.tokenSeconds * 1_000) / 1_000) * 1_000;
      const value = `token-${this.tokens.length + 1}`;
      this.tokens.push({ value, askedAt: this.now(), validTill });
      const text = new Date(validTill).toISOString().slice(0, 19).replace('T', ' ');
      reply(response, 200, { access_token: value, valid_till: text });
    }
  }

  private send({ request, body, response, refuse }: Call): void {
    const wrong = checkMessage(body, this.templates);
    if (request.headers['x-api-key'] !== this.credentials.FANFARE_API_KEY) {
      refuse(401, 'no API key');
    } else if (!this.isGood(request.headers.authorization)) {
      this.refusals += 1;
      reply(response, 401, {});
    } else if (wrong) {
      refuse(400, wrong);
    } else {
      this.take(body as HostedMessage, request, response);
    }
  }

  private take(message: HostedMessage, request: IncomingMessage, response: ServerResponse): void {
    const times = (this.timesOffered.get(message.to) ?? 0) + 1;
    this.timesOffered.set(message.to, times);
    this.offered.push(message);
    const trouble = this.trouble(message, times);
    if (trouble?.kind === 'refused') {
      const { status, retryAfter } = trouble;
      reply(response, status, {}, retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` });
    } else if (trouble?.kind === 'cut') {
      if (trouble.taken) this.taken.push(message);
      request.socket.destroy();
    } else {
      this.taken.push(message);
      setTimeout(() => reply(response, 200, {}), trouble?.ms ?? this.answerMs);
    }
  }

  private list({ request, url, response, refuse }: Call): void {
    const query = url.searchParams;
    const strange = [...query.keys()].filter((name) => !QUERY.has(name));
    if (request.headers.cookie !== `session_token=${this.credentials.FANFARE_SESSION_COOKIE}`) {
      reply(response, 401, {});
    } else if (strange.length) {
      refuse(400, `query ${strange.join(', ')}`);
    } else {
      const all = this.templates.filter(({ channel }) => channel === query.get('channel'));
      const page = Number(query.get('page') ?? 1);
      const pageSize = this.options.pageSize ?? 20;
      const templates = all.slice((page - 1) * pageSize, page * pageSize).map(listed);
      reply(response, 200, { success: true, templates, page, pageSize, total: all.length });
    }
  }

  private isGood(authorization: string | undefined): boolean {
    const token = this.tokens.find(({ value }) => authorization === `Bearer ${value}`);
    return token !== undefined && this.now() < token.validTill;
  }
}

export type Trouble =
  | { kind: 'refused'; status: number; retryAfter?: number }
  /** The connection ends when the body has been read. */
  | { kind: 'cut'; taken: boolean }
  | { kind: 'slow'; ms: number };

/** Times by the service's own clock. */
export interface IssuedToken {
  value: string;
  askedAt: number;
  validTill: number;
}

interface Call {
  request: IncomingMessage;
  url: URL;
  body: unknown;
  response: ServerResponse;
  refuse(status: number, why: string): void;
}

/** Those of the specification, and those that HTTP itself needs. */
const HEADERS = new Set([
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'x-api-key',
]);
const QUERY = new Set(['channel', 'column', 'direction', 'search', 'page']);

function parse(text: string): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
