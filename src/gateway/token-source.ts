import { DomainError } from '../domain/errors';

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
    return this.current && !this.nearlyOver(this.current) ? this.current : undefined;
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

  /** For short-lived tokens the margin is a tenth of their lifetime, because the usual margin would be most of it. */
  private nearlyOver(token: Token): boolean {
    const margin = Math.min(REFRESH_AHEAD_MS, (token.expiresAt - token.fetchedAt) / 10);
    return Date.now() >= Math.max(token.expiresAt - margin, token.fetchedAt + LEAST_USE_MS);
  }
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
