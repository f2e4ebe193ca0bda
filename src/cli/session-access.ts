import { z } from 'zod';
import type { Access, Ask, Proof } from '../client/access';
import { refusal } from '../client/fanfare-error';

/** Proof of a user, for calls that a backend may not make: a log-in, or the cookie of a session. */
export type SessionOf = { user: { email: string; password: string } } | { sessionCookie: string };

const session = z.object({ user: z.object({ id: z.string() }) });

export interface SessionAccess extends Access {
  /** Ends the session, so that none stays open for days. If this fails, the session expires by itself. */
  end(): Promise<void>;
}

/** Logs in at the first call, and again when the session has ended. */
export function sessionAccess(baseUrl: string, of: SessionOf, ask: Ask): SessionAccess {
  const url = `${baseUrl.replace(/\/+$/, '')}/api/session`;
  let current: Promise<Proof> | undefined;

  async function begin(): Promise<Proof> {
    if ('sessionCookie' in of) {
      const cookie = `session_token=${of.sessionCookie}`;
      return asUser(cookie, await ask(url, { headers: { cookie } }), 'GET /api/session');
    }
    const { email, password } = of.user;
    const answer = await ask(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    return asUser(cookie, answer, 'POST /api/session');
  }

  return {
    proof() {
      current ??= begin().catch((error: unknown) => {
        current = undefined;
        throw error;
      });
      return current;
    },
    refused() {
      current = undefined;
    },
    async end() {
      if (!('user' in of) || !current) return;
      const headers = await current.catch(() => undefined);
      if (headers) await ask(url, { method: 'DELETE', headers }).catch(() => undefined);
    },
  };
}

/** With a cookie, campaign calls must name the acting user (api.md 2). */
async function asUser(cookie: string, answer: Response, what: string): Promise<Proof> {
  if (answer.status >= 300) throw await refusal(what, answer);
  return { cookie, 'x-user-id': session.parse(await answer.json()).user.id };
}
