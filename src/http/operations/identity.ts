import { endedSession, issuedToken, nothing, session } from '../../contracts/answers/identity';
import { loginBody } from '../../contracts/session';
import { CAPABILITIES, revokeBody, tokenBody } from '../../contracts/token';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const NO_STORE = { 'cache-control': 'no-store' };

export const createToken: Operation = {
  id: 'createToken',
  tag: 'Authentication',
  summary: 'Create an access token',
  description:
    'The client id and secret come in the Basic scheme. The token is good until `valid_till`, until it is revoked, or until its client is disabled, whichever is first. `capabilities` says what this service does beyond the specification.',
  body: jsonBody(tokenBody, { day: { grant_type: 'client_credentials', valid_hour: 24 } }),
  answers: {
    200: json(
      'The token.',
      issuedToken,
      {
        access_token: EXAMPLE.token,
        valid_till: '2026-11-22 10:15:00',
        token_type: 'Bearer',
        expires_in: 86_400,
        capabilities: [...CAPABILITIES],
      },
      NO_STORE,
    ),
  },
  errors: ['unsupported_grant_type', 'too_many_attempts'],
};

const REVOKE = { token: EXAMPLE.token };

export const revokeToken: Operation = {
  id: 'revokeToken',
  tag: 'Authentication',
  summary: 'Revoke an access token',
  description:
    'RFC 7009: a token of the client that asks stops working at once here, and within 5 seconds on every process. One that is unknown is as dead already, so the answer is the same.',
  body: {
    content: {
      'application/json': { schema: revokeBody, examples: { token: REVOKE } },
      'application/x-www-form-urlencoded': {
        schema: revokeBody,
        examples: { token: REVOKE },
      },
    },
  },
  answers: { 200: json('It does not work any more.', nothing, {}, NO_STORE) },
  errors: ['too_many_attempts'],
};

const USER = {
  id: EXAMPLE.user,
  email: EXAMPLE.email,
  role: 'owner' as const,
  workspace: { id: EXAMPLE.workspace, name: 'Harbour Books' },
};

export const logIn: Operation = {
  id: 'logIn',
  tag: 'Authentication',
  summary: 'Log in',
  description:
    'The session is in a cookie that scripts cannot read. It ends 12 hours after it was last used, and after 7 days in any case. Five failures for a user or an address in 15 minutes lock both out for the rest of them.',
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

export const whoAmI: Operation = {
  id: 'whoAmI',
  tag: 'Authentication',
  summary: 'Tell who is logged in',
  description:
    'The user of the session cookie, with role and workspace. 401 once the session has ended: after twelve hours without a call, after seven days, or when the user was disabled.',
  answers: { 200: json('The user.', session, { success: true, user: USER }) },
};

export const logOut: Operation = {
  id: 'logOut',
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
