import { answer, idParams, timestamp } from '../contracts/common';
import { nothingMore, ownSessions, passwordChangeBody, totpBody, totpSetUp } from '../contracts/session';
import type { OwnSessions } from '../messaging/access/own-sessions';
import type { FactorUser, SecondFactor } from '../messaging/access/second-factor';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { type Caller, callerOf } from './request/caller';
import { callerAddress } from './request/caller-address';
import type { App } from './request/routing';

const tag = 'Authentication';
const NO_STORE = { 'cache-control': 'no-store' };

const changeOwnPassword: Operation = {
  id: 'changeOwnPassword',
  access: { role: 'viewer' },
  tag,
  summary: 'Change one’s own password',
  description:
    'Ends all other sessions of the user. A wrong `current` is 403 `wrong_password` and counts as a failed log-in. A new password has 12 to 256 characters and is none of the commonest.',
  body: jsonBody(passwordChangeBody, {
    change: { current: EXAMPLE.ownPassword, new: 'a-kettle-on-the-blue-stove' },
    back: { current: 'a-kettle-on-the-blue-stove', new: EXAMPLE.ownPassword },
  }),
  answers: { 200: json('Changed.', nothingMore, answered(200, 'Password changed', null)) },
  errors: ['wrong_password', 'too_many_attempts'],
};

const listOwnSessions: Operation = {
  id: 'listOwnSessions',
  access: { role: 'viewer' },
  tag,
  summary: 'List one’s own sessions',
  description: 'Where the user is logged in, newest first. Sessions that have expired are not shown.',
  answers: {
    200: json(
      'The sessions.',
      ownSessions,
      answered(200, 'Sessions', [
        {
          id: EXAMPLE.session,
          createdAt: EXAMPLE.at,
          lastSeenAt: EXAMPLE.at,
          address: '192.0.2.10',
          userAgent: 'Mozilla/5.0',
          current: true,
        },
      ]),
    ),
  },
};

const endOwnSession: Operation = {
  id: 'endOwnSession',
  access: { role: 'viewer' },
  tag,
  summary: 'End one of one’s own sessions',
  description:
    'At once on this process, and within 5 seconds on every other. The session that asks may end itself. Another user’s session is 404.',
  parameters: { id: EXAMPLE.session },
  answers: { 200: json('Ended.', nothingMore, answered(200, 'Session ended', null)) },
};

const setUpTotp: Operation = {
  id: 'setUpTotp',
  access: { role: 'viewer' },
  tag,
  summary: 'Set up one-time codes',
  description:
    'RFC 6238, as authenticator apps have it: without a body or with `{}` a new secret, which counts once it was confirmed with `{ code }`; the answer to that has ten recovery codes, each of which stands in for a code once. From then on a log-in needs `totp`. The answers are never shown again.',
  body: { ...jsonBody(totpBody, { begin: {}, confirm: { code: EXAMPLE.totpCode } }), optional: true },
  answers: {
    200: json(
      'The secret, or the recovery codes.',
      totpSetUp,
      answered(200, 'One-time codes are to be confirmed', {
        secret: EXAMPLE.totpSecret,
        otpauthUrl: `otpauth://totp/Fanfare:owner%40harbour-books.example?secret=${EXAMPLE.totpSecret}&issuer=Fanfare&algorithm=SHA1&digits=6&period=30`,
      }),
      NO_STORE,
    ),
  },
  errors: ['totp_enabled', 'totp_not_begun'],
};

const turnOffTotp: Operation = {
  id: 'turnOffTotp',
  access: { role: 'viewer' },
  tag,
  summary: 'Turn one’s own one-time codes off',
  description:
    'The secret and the recovery codes are deleted. Where the installation demands codes of the user’s role, new ones have to be set up before anything else. Harmless when they are off.',
  answers: { 200: json('Off.', nothingMore, answered(200, 'One-time codes are off', null)) },
};

const resetTotp: Operation = {
  id: 'resetTotp',
  access: { role: 'admin' },
  tag: 'Administration',
  summary: 'Turn a user’s one-time codes off',
  description:
    'For a user who has lost both the device and the recovery codes. Harmless for one who has none. The user’s sessions go on.',
  parameters: { id: EXAMPLE.colleague },
  answers: { 200: json('Off.', nothingMore, answered(200, 'One-time codes are off', null)) },
};

/** What users do with their own log-in (api.md 16, 17). */
export function ownSessionRoutes({
  sessions,
  secondFactor,
}: {
  sessions: OwnSessions;
  secondFactor: SecondFactor;
}): (app: App) => void {
  const config = { auth: 'session' } as const;
  const enrolling = { auth: 'session', enrols: true } as const;

  return (app) => {
    const changing = { operation: changeOwnPassword, body: passwordChangeBody };
    app.put('/api/session/password', { config, schema: changing }, async (request) => {
      const { userId, sessionId } = ownerOf(callerOf(request));
      await sessions.changePassword({ userId, sessionId, address: callerAddress(request) }, request.body);
      return answer(200, 'Password changed', null);
    });

    app.get('/api/sessions', { config, schema: { operation: listOwnSessions } }, async (request) => {
      const { userId, sessionId } = ownerOf(callerOf(request));
      const found = await sessions.sessionsOf(userId);
      const shown = found.map(({ createdAt, lastSeenAt, ...session }) => ({
        ...session,
        createdAt: timestamp(createdAt),
        lastSeenAt: timestamp(lastSeenAt),
        current: session.id === sessionId,
      }));
      return answer(200, 'Sessions', shown);
    });

    const ending = { operation: endOwnSession, params: idParams };
    app.delete('/api/sessions/:id', { config, schema: ending }, async (request) => {
      await sessions.endSession(ownerOf(callerOf(request)).userId, request.params.id);
      return answer(200, 'Session ended', null);
    });

    const settingUp = { operation: setUpTotp, body: totpBody };
    app.post('/api/session/totp', { config: enrolling, schema: settingUp }, async (request, reply) => {
      const { code } = request.body;
      const user = ownerOf(callerOf(request));
      reply.header('cache-control', 'no-store');
      if (code === undefined) {
        return answer(200, 'One-time codes are to be confirmed', await secondFactor.begin(user));
      }
      const recoveryCodes = await secondFactor.confirm(user, code);
      return answer(200, 'One-time codes are on', { recoveryCodes });
    });

    app.delete(
      '/api/session/totp',
      { config: enrolling, schema: { operation: turnOffTotp } },
      async (request) => {
        await secondFactor.remove(ownerOf(callerOf(request)));
        return answer(200, 'One-time codes are off', null);
      },
    );

    app.delete(
      '/api/admin/users/:id/totp',
      { config, schema: { operation: resetTotp, params: idParams } },
      async (request) => {
        const { workspaceId } = callerOf(request);
        await secondFactor.remove({ workspaceId, userId: request.params.id });
        return answer(200, 'One-time codes are off', null);
      },
    );
  };
}

/** These routes admit session cookies only, so that all of it is known. */
const ownerOf = ({
  workspaceId,
  userId = '',
  sessionId = '',
}: Caller): FactorUser & { sessionId: string } => ({
  workspaceId,
  userId,
  sessionId,
});
