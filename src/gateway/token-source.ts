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

/**
 * The service's current token. One request at a time, however many callers wait for it; fetched anew
 * shortly before it ends, and when a caller reports the one it was given as refused.
 */
export class TokenSource {
  private current: Token | undefined;
  private fetching: Promise<Token> | undefined;

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

  /** Forgets a refused token, unless it has been replaced already. */
  refused(token: Token): void {
    if (this.current === token) this.current = undefined;
  }

  /** A tenth of the lifetime for tokens so short that the usual margin would be most of it. */
  private nearlyOver(token: Token): boolean {
    const margin = Math.min(REFRESH_AHEAD_MS, (token.expiresAt - token.fetchedAt) / 10);
    return Date.now() >= token.expiresAt - margin;
  }
}

/** Reads the token endpoint's answer; `valid_till` is `YYYY-MM-DD HH:MM:SS` in UTC (messaging-service.md). */
export function parseToken(body: unknown, now: number): Token {
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
  // A lifetime is safer than a time of day: the two clocks need not agree.
  const expiresAt = typeof answer.expires_in === 'number' ? now + answer.expires_in * 1000 : validTill;
  if (!Number.isFinite(expiresAt)) {
    throw new DomainError('dependency_down', 'The token endpoint answered a valid_till that is not a time');
  }
  return {
    accessToken: answer.access_token,
    capabilities: Array.isArray(answer.capabilities) ? answer.capabilities.map(String) : [],
    fetchedAt: now,
    expiresAt,
  };
}
