import { DomainError, isDomainError } from '../domain/errors';
import type { HttpAnswer, Transport, UnexpectedResponses } from './transport';

export interface Token {
  accessToken: string;
  capabilities: string[];
  /** Milliseconds since 1970, by our clock. */
  fetchedAt: number;
  expiresAt: number;
}

/** A token is replaced this long before it ends, so that it does not end on its way to the service. */
const REFRESH_AHEAD_MS = 60_000;

/** A token is used for at least this long, however soon it seems to end, unless it is refused. */
const LEAST_USE_MS = 1_000;

/** If new tokens are refused before one has worked, the next is requested no sooner than this. */
const REFUSED_MS = 1_000;

/** `Date` and `valid_till` are whole seconds, so that clocks that differ by less may agree. */
const SKEW_MS = 2_000;

/**
 * The service's present token. It makes one request at a time, however many callers wait. It fetches a new
 * token shortly before the old one ends, and when a caller reports that its token was refused.
 */
export class TokenSource {
  private current: Token | undefined;
  private fetching: Promise<Token> | undefined;
  private proven: Token | undefined;
  private refusedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly fetchToken: () => Promise<Token>) {}

  /** The present token, if there is one that can be used without waiting. */
  get valid(): Token | undefined {
    return this.current && Date.now() < this.endOf(this.current) ? this.current : undefined;
  }

  async get(): Promise<Token> {
    const { valid } = this;
    if (valid) return valid;
    this.fetching ??= this.fetchToken()
      .then((token) => {
        this.current = token;
        return token;
      })
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  worked(token: Token): void {
    this.proven = token;
  }

  /**
   * Drops a refused token, unless it has been replaced already. Returns false when another token would not
   * help. If new tokens are refused one after the other, the cause lies elsewhere, and a new token for each
   * message would only add load.
   */
  refused(token: Token): boolean {
    if (this.current !== token) return true;
    const now = Date.now();
    if (this.proven !== token && now - this.refusedAt < REFUSED_MS) return false;
    this.refusedAt = now;
    this.current = undefined;
    return true;
  }

  /** Milliseconds since the epoch from which a new token is fetched. For short-lived tokens the margin is a tenth of their lifetime, because the usual margin would be most of it. */
  endOf(token: Token): number {
    const margin = Math.min(REFRESH_AHEAD_MS, (token.expiresAt - token.fetchedAt) / 10);
    return Math.max(token.expiresAt - margin, token.fetchedAt + LEAST_USE_MS);
  }
}

/**
 * Asks the token endpoint for a token (messaging-service.md, Create token). Fails with `invalid_client` when it refuses
 * the credentials, and with `service_not_found` when it has answered something else for long; otherwise with
 * `dependency_down`, because the next request may get one.
 */
export async function requestToken(
  { request }: Pick<Transport, 'request'>,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
  strange: UnexpectedResponses,
): Promise<Token> {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  let answer: HttpAnswer;
  try {
    answer = await request('POST', '/api/v1/auth/token', {
      headers: { authorization: `Basic ${basic}` },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
  } catch (error) {
    throw new DomainError('dependency_down', 'The token endpoint does not answer', { cause: error });
  }
  const { status, headers } = answer;
  if (status === 401 || status === 403 || errorOf(answer) === 'invalid_client') {
    throw new DomainError(
      'invalid_client',
      'The token endpoint refused the client credentials; check FANFARE_CLIENT_ID and FANFARE_CLIENT_SECRET',
    );
  }
  try {
    if (status !== 200) throw new DomainError('dependency_down', `The token endpoint answered ${status}`);
    const token = parseToken(
      answer.body,
      Date.now(),
      typeof headers.date === 'string' ? headers.date : undefined,
    );
    strange.over();
    return token;
  } catch (error) {
    if (!isDomainError(error) || status >= 500 || status === 408 || status === 429) throw error;
    if (!strange.note()) throw error;
    const check = 'check FANFARE_AUTH_URL, then resume the campaign';
    throw new DomainError('service_not_found', `${error.message}; ${check}`, { cause: error });
  }
}

/** OAuth's error code, which a service may also send with 400 (RFC 6749 5.2). */
function errorOf({ body }: HttpAnswer): unknown {
  return (body as { error?: unknown } | null | undefined)?.error;
}

/**
 * Reads the token endpoint's answer. `valid_till` is `YYYY-MM-DD HH:MM:SS` in UTC (messaging-service.md), by
 * the service's clock. `date` is the answer's own header, which shows that clock.
 */
export function parseToken(body: unknown, now: number, date?: string): Token {
  const answer = body as {
    access_token?: unknown;
    valid_till?: unknown;
    expires_in?: unknown;
    capabilities?: unknown;
  };
  if (typeof answer?.access_token !== 'string' || typeof answer.valid_till !== 'string') {
    throw new DomainError(
      'dependency_down',
      'The token endpoint answered without access_token and valid_till',
    );
  }
  const validTill = Date.parse(`${answer.valid_till.replace(' ', 'T')}Z`);
  if (Number.isNaN(validTill)) {
    throw new DomainError('dependency_down', 'The token endpoint answered a valid_till that is not a time');
  }
  return {
    accessToken: answer.access_token,
    capabilities: Array.isArray(answer.capabilities) ? answer.capabilities.map(String) : [],
    fetchedAt: now,
    // Prefer a lifetime to a time of day, because the two clocks may differ.
    expiresAt:
      typeof answer.expires_in === 'number'
        ? now + answer.expires_in * 1000
        : byOurClock(validTill, now, date),
  };
}

/** If a new token seems to have ended already, the clocks differ; its real end shows as a refusal. */
function byOurClock(validTill: number, now: number, date: string | undefined): number {
  const skew = date === undefined ? Number.NaN : Date.parse(date) - now;
  const expiresAt = Math.abs(skew) > SKEW_MS ? validTill - skew : validTill;
  return expiresAt > now ? expiresAt : Number.POSITIVE_INFINITY;
}
