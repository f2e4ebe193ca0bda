import { answer } from '../contracts/common';
import { endedSession, loginBody, session } from '../contracts/session';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Sessions } from '../messaging/access/sessions';
import { answered, EXAMPLE, NO_STORE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { OPEN } from './request/access';
import { callerOf } from './request/caller';
import { callerAddress, originOf } from './request/caller-address';
import { sessionCookies, sessionTokenOf } from './request/cookie';
import type { App } from './request/routing';
import { refuseCrossSite } from './request/same-origin';
import { isHttps } from './tls';

export interface SessionRoutesDeps {
  sessions: Sessions;
  /** If the public address is https, the cookie is sent over https only. */
  publicUrl?: string | undefined;
  /** The process itself speaks https. */
  tls?: boolean | undefined;
}

/** api.md 11. */
export function sessionRoutes({ sessions, publicUrl, tls = false }: SessionRoutesDeps): (app: App) => void {
  const secure = tls || isHttps(publicUrl);
  const publicOrigin = publicUrl && new URL(publicUrl).origin;

  return (app) => {
    app.post(
      '/api/session',
      { config: { auth: 'open' }, schema: { operation: logIn, body: loginBody } },
      async (request, reply) => {
        // Another site could log a visitor in as another user.
        refuseCrossSite(request, publicOrigin);
        const { token, user } = await sessions.login({
          ...request.body,
          address: callerAddress(request),
          origin: originOf(request),
        });
        // The browser forgets the session that it had, so that it must not go on without one.
        const before = sessionTokenOf(request.headers.cookie);
        if (before !== undefined) await sessions.logout(before);
        const cookies = sessionCookies(token, { secure, maxAgeSeconds: LIMITS.sessionDaysMax * 86_400 });
        return reply
          .header('set-cookie', cookies)
          .header('cache-control', 'no-store')
          .send({ success: true, user });
      },
    );

    app.get(
      '/api/session',
      { config: { auth: 'session', enrols: true }, schema: { operation: whoAmI } },
      async (request) => {
        const user = await sessions.whoAmI(callerOf(request).userId ?? '');
        if (!user)
          throw new DomainError('unauthenticated', 'This user no longer exists; log in as another one');
        return { success: true, user };
      },
    );

    app.delete(
      '/api/session',
      { config: { auth: 'session', enrols: true }, schema: { operation: logOut } },
      async (request, reply) => {
        await sessions.logout(sessionTokenOf(request.headers.cookie) ?? '');
        return reply
          .header('set-cookie', sessionCookies('', { secure, maxAgeSeconds: 0 }))
          .send({ success: true, ...answer(200, 'Session ended', null) });
      },
    );
  };
}

const USER = {
  id: EXAMPLE.user,
  email: EXAMPLE.email,
  role: 'owner' as const,
  workspace: { id: EXAMPLE.workspace, name: 'Harbour Books' },
};

const logIn: Operation = {
  id: 'logIn',
  access: OPEN,
  tag: 'Authentication',
  summary: 'Log in',
  description:
    'The session is in a cookie that scripts cannot read. It ends 12 hours after it was last used, and after 7 days in any case. After five failures of a user from one address in 15 minutes the user waits there, a minute at first and twice as long after each further one.',
  body: jsonBody(loginBody, { owner: { email: EXAMPLE.email, password: EXAMPLE.password } }),
  answers: {
    200: json(
      'Logged in.',
      session,
      { success: true, user: USER },
      { 'set-cookie': 'The session: `session_token`, `HttpOnly` and `SameSite=Lax`.', ...NO_STORE },
    ),
  },
  errors: ['unauthenticated', 'totp_required', 'cross_site', 'too_many_attempts', 'dependency_down'],
};

const whoAmI: Operation = {
  id: 'whoAmI',
  access: { role: 'viewer' },
  tag: 'Authentication',
  summary: 'Tell who is logged in',
  description:
    'The user of the session cookie, with role and workspace. 401 once the session has ended: after twelve hours without a call, after seven days, or when the user was disabled.',
  answers: { 200: json('The user.', session, { success: true, user: USER }) },
};

const logOut: Operation = {
  id: 'logOut',
  access: { role: 'viewer' },
  tag: 'Authentication',
  summary: 'Log out',
  description:
    'Ends the session here at once, and on every other process within 5 seconds. The cookie is worth nothing afterwards.',
  answers: {
    200: json(
      'The session has ended.',
      endedSession,
      { success: true, ...answered(200, 'Session ended', null) },
      { 'set-cookie': 'Makes the browser forget the session.' },
    ),
  },
};
