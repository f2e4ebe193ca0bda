import { DomainError } from '../domain/errors';

export interface Token {
  accessToken: string;
  capabilities: string[];
  /** Milliseconds since the epoch, by our clock. */
  fetchedAt: number;
  expiresAt: number;
}

/** A token is replaced this long before it ends, so that none ends on its way to the service. */
const REFRESH_AHEAD_MS = 60_000;

/** However soon it seems to end: a token is used for so long, and no other is asked for, unless it is refused. */
const LEAST_USE_MS = 1_000;

/** Tokens that are refused before one of them has worked are asked for no more often than this. */
const REFUSED_MS = 1_000;

/** `Date` and `valid_till` are whole seconds: clocks that seem to differ by less may well agree. */
const SKEW_MS = 2_000;

/**
 * The service's current token. One request at a time, however many callers wait for it; fetched anew
 * shortly before it ends, and when a caller reports the one it was given as refused.
 */
export class TokenSource {
  private current: Token | undefined;
  private fetching: Promise<Token> | undefined;
  private proven: Token | undefined;
  private refusedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly fetchToken: () => Promise<Token>) {}

  async get(): Promise<Token> {
    if (this.current && !this.nearlyOver(this.current)) return this.current;
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
   * Forgets a refused token, unless it has been replaced already. False when another would not help: where
   * new tokens are refused one after the other, it is something else that is wrong, and a token for each
   * message would only be the next trouble.
   */
  refused(token: Token): boolean {
    if (this.current !== token) return true;
    const now = Date.now();
    if (this.proven !== token && now - this.refusedAt < REFUSED_MS) return false;
    this.refusedAt = now;
    this.current = undefined;
    return true;
  }

  /** A tenth of the lifetime for tokens so short that the usual margin would be most of it. */
  private nearlyOver(token: Token): boolean {
    const margin = Math.min(REFRESH_AHEAD_MS, (token.expiresAt - token.fetchedAt) / 10);
    return Date.now() >= Math.max(token.expiresAt - margin, token.fetchedAt + LEAST_USE_MS);
  }
}

/**
 * Reads the token endpoint's answer; `valid_till` is `YYYY-MM-DD HH:MM:SS` in UTC (messaging-service.md), by
 * the service's clock. `date` is the answer's own header, which says what that clock shows.
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
    // A lifetime is safer than a time of day: the two clocks need not agree.
    expiresAt:
      typeof answer.expires_in === 'number'
        ? now + answer.expires_in * 1000
        : byOurClock(validTill, now, date),
  };
}

/** A token that is over as it is made tells of two clocks, and not of its end: a refusal will. */
function byOurClock(validTill: number, now: number, date: string | undefined): number {
  const skew = date === undefined ? Number.NaN : Date.parse(date) - now;
  const expiresAt = Math.abs(skew) > SKEW_MS ? validTill - skew : validTill;
  return expiresAt > now ? expiresAt : Number.POSITIVE_INFINITY;
}
