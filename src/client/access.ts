import { refusal } from './fanfare-error';

/** A token is replaced so long before it ends, so that none ends on its way. */
const REFRESH_AHEAD_MS = 60_000;

export interface Access {
  /** The token to call with. One request for it at a time, however many calls wait. */
  token(): Promise<string>;
  /** The server did not take this one. */
  refused(token: string): void;
}

/** Tokens for a client's id and secret. */
export function createAccess(options: {
  authUrl: string;
  clientId: string;
  clientSecret: string;
  call(url: string, init: RequestInit): Promise<Response>;
}): Access {
  let current: { token: string; until: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    const basic = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString('base64');
    const askedAt = Date.now();
    const answer = await options.call(`${options.authUrl}/api/v1/auth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    if (answer.status >= 300) throw await refusal('POST /api/v1/auth/token', answer);
    const body = (await answer.json()) as { access_token: string; valid_till: string; expires_in?: number };
    // A lifetime is safer than a time of day: two clocks need not agree.
    const lifeMs =
      body.expires_in === undefined
        ? Date.parse(`${body.valid_till.replace(' ', 'T')}Z`) - askedAt
        : body.expires_in * 1000;
    current = {
      token: body.access_token,
      until: askedAt + lifeMs - Math.min(REFRESH_AHEAD_MS, lifeMs / 10),
    };
    return current.token;
  }

  return {
    async token() {
      if (current && Date.now() < current.until) return current.token;
      fetching ??= fetchToken().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    refused(token) {
      if (current?.token === token) current = undefined;
    },
  };
}
