import { answer } from '../../contracts/common';
import { loginBody } from '../../contracts/session';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { Sessions } from '../../messaging/access/sessions';
import { callerOf } from '../caller';
import { callerAddress, originOf } from '../caller-address';
import { sessionCookie, sessionTokenOf } from '../cookie';
import { logIn, logOut, whoAmI } from '../operations/identity';
import type { App } from '../routing';
import { refuseCrossSite } from '../same-origin';

export interface SessionRoutesDeps {
  sessions: Sessions;
  /** If the public address is https, the cookie is sent over https only. */
  publicUrl?: string | undefined;
}

/** api.md 11. */
export function sessionRoutes({ sessions, publicUrl }: SessionRoutesDeps): (app: App) => void {
  const secure = publicUrl?.startsWith('https:') ?? false;
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
        const cookie = sessionCookie(token, { secure, maxAgeSeconds: LIMITS.sessionDaysMax * 86_400 });
        return reply
          .header('set-cookie', cookie)
          .header('cache-control', 'no-store')
          .send({ success: true, user });
      },
    );

    app.get(
      '/api/session',
      { config: { auth: 'session', enrols: true }, schema: { operation: whoAmI } },
      async (request) => {
        const user = await sessions.whoAmI(callerOf(request).userId ?? '');
        if (!user) throw new DomainError('unauthenticated', 'This user no longer exists');
        return { success: true, user };
      },
    );

    app.delete(
      '/api/session',
      { config: { auth: 'session', enrols: true }, schema: { operation: logOut } },
      async (request, reply) => {
        await sessions.logout(sessionTokenOf(request.headers.cookie) ?? '');
        return reply
          .header('set-cookie', sessionCookie('', { secure, maxAgeSeconds: 0 }))
          .send({ success: true, ...answer(200, 'Session ended', null) });
      },
    );
  };
}
