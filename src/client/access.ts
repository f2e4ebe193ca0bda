import { refusal } from './fanfare-error';

/** A token is replaced so long before it ends, so that none ends on its way. */
const REFRESH_AHEAD_MS = 60_000;

/** The headers that prove who calls. */
export type Proof = Readonly<Record<string, string>>;

export interface Access {
  /** What to call with. One request for it at a time, however many calls wait. */
  proof(): Promise<Proof>;
  /** The server did not take this one. */
  refused(proof: Proof): void;
}

/** Asks for an address as the transport does, without any proof. */
export type Ask = (url: string, init: RequestInit) => Promise<Response>;

/** Tokens for a client's id and secret. */
export function tokenAccess(
  options: { authUrl: string; clientId: string; clientSecret: string },
  ask: Ask,
): Access {
  let current: { proof: Proof; until: number } | undefined;
  let fetching: Promise<Proof> | undefined;

  async function fetchToken(): Promise<Proof> {
    const basic = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString('base64');
    const askedAt = Date.now();
    const answer = await ask(`${options.authUrl}/api/v1/auth/token`, {
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
      proof: { authorization: `Bearer ${body.access_token}` },
      until: askedAt + lifeMs - Math.min(REFRESH_AHEAD_MS, lifeMs / 10),
    };
    return current.proof;
  }

  return {
    async proof() {
      if (current && Date.now() < current.until) return current.proof;
      fetching ??= fetchToken().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    refused(proof) {
      if (current?.proof === proof) current = undefined;
    },
  };
}
