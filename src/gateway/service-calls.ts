import { LIMITS } from '../domain/limits';
import { requestToken, type Token, TokenSource } from './token-source';
import { type HttpAnswer, openTransport, type Transport, UnexpectedResponses } from './transport';

/** Where a messaging service is, and what proves to it who we are. */
export interface ServiceOptions {
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
  /** Runs before a token is requested; if it fails, the request for a token fails. The key in its answer is used from then on. */
  beforeToken?: (() => Promise<{ apiKey: string } | undefined>) | undefined;
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

/** Calls to a messaging service, each with its token and the headers that belong to it. */
export class ServiceCalls {
  private readonly transports = new Map<`${Endpoint} ${number}`, Transport>();
  private headersOfToken: { token?: Token } & Partial<Record<'send' | 'app', Record<string, string>>> = {};
  readonly tokens: TokenSource;
  private apiKey: string;
  private readonly strangeTokens = new UnexpectedResponses();

  constructor(private readonly options: ServiceOptions) {
    this.apiKey = options.apiKey;
    this.tokens = new TokenSource(() => this.fetchToken());
  }

  /** Makes a call with the present token, and once more with a new one if it is refused. */
  call(...call: Call): Promise<HttpAnswer> {
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

  /** Also for requests that a thread makes (single-sends.ts). */
  headersWith(base: 'send' | 'app', token: Token, isTraced = false): Readonly<Record<string, string>> {
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

  async close(): Promise<void> {
    await Promise.all([...this.transports.values()].map((transport) => transport.close()));
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
