import {
  changedUser,
  passwordBody,
  userBody,
  userChangeBody,
  userListQuery,
  users,
  userWithPassword,
} from '../contracts/admin';
import { emptyBody } from '../contracts/campaigns';
import { answer, idParams, timestamp } from '../contracts/common';
import type { Actor, UserRecord, Users } from '../messaging/access/users';
import { answered, EMPTY, EXAMPLE, NO_STORE, page, paged } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { type Caller, callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

/** The users of the caller's workspace (api.md 11). */
export function adminUserRoutes(users: Users): (app: App) => void {
  const config = { auth: 'session' } as const;
  const secretive = { auth: 'session', idempotent: 'secret' } as const;

  return (app) => {
    app.get(
      '/api/admin/users',
      { config, schema: { operation: listUsers, querystring: userListQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const { users: found, total } = await users.list(callerOf(request).workspaceId, request.query);
        return { ...answer(200, 'Users', found.map(present)), pagination: { page, limit, total } };
      },
    );

    app.post(
      '/api/admin/users',
      { config: secretive, schema: { operation: createUser, body: userBody } },
      async (request, reply) => {
        const made = await users.create(actorOf(callerOf(request)), request.body, generatorOf(request));
        // A password that the caller chose is not returned, because they know it.
        const password = request.body.password === undefined ? { password: made.password } : {};
        reply.code(201).header('cache-control', 'no-store');
        return answer(201, 'User created', { ...present(made.user), ...password });
      },
    );

    const changing = { operation: changeUser, params: idParams, body: userChangeBody };
    app.patch('/api/admin/users/:id', { config, schema: changing }, async (request) => {
      const actor = actorOf(callerOf(request));
      const user = await users.setRole(actor, request.params.id, request.body.role);
      return answer(200, 'Role changed', present(user));
    });

    const one = { params: idParams };
    app.post(
      '/api/admin/users/:id/disable',
      { config, schema: { operation: disableUser, ...one } },
      async (request) => {
        parseBody(emptyBody, request.body);
        const user = await users.disable(actorOf(callerOf(request)), request.params.id);
        return answer(200, 'User disabled', present(user));
      },
    );

    app.post(
      '/api/admin/users/:id/enable',
      { config, schema: { operation: enableUser, ...one } },
      async (request) => {
        parseBody(emptyBody, request.body);
        const user = await users.enable(actorOf(callerOf(request)), request.params.id);
        return answer(200, 'User enabled', present(user));
      },
    );

    app.post(
      '/api/admin/users/:id/password',
      { config: secretive, schema: { operation: resetPassword, ...one } },
      async (request, reply) => {
        const input = parseBody(passwordBody, request.body);
        const actor = actorOf(callerOf(request));
        const reset = await users.resetPassword(actor, request.params.id, input, generatorOf(request));
        const password = input.password === undefined ? { password: reset.password } : {};
        reply.header('cache-control', 'no-store');
        return answer(200, 'Password reset', { ...present(reset.user), ...password });
      },
    );
  };
}

/** The route admits administrators only, so that the role is known. */
const actorOf = ({ workspaceId, role = 'viewer' }: Caller): Actor => ({ workspaceId, role });

const present = ({ createdAt, disabledAt, ...user }: UserRecord) => ({
  ...user,
  createdAt: timestamp(createdAt),
  disabledAt: disabledAt && timestamp(disabledAt),
});

const tag = 'Administration';

const USER = {
  id: EXAMPLE.colleague,
  email: 'grace@harbour-books.example',
  role: 'sender' as const,
  createdAt: EXAMPLE.at,
  disabledAt: null,
};
const A_USER = { tag, parameters: { id: EXAMPLE.colleague } } as const;

const listUsers: Operation = {
  id: 'listUsers',
  access: { role: 'admin' },
  tag,
  summary: 'List users',
  description:
    'The users of the workspace, newest first. `search` finds a part of an email address. Passwords are never shown.',
  parameters: { ...paged, search: 'grace' },
  answers: {
    200: json('A page of users.', users, { ...answered(200, 'Users', [USER]), pagination: page(1) }),
  },
};

const createUser: Operation = {
  id: 'createUser',
  access: { role: 'admin' },
  tag,
  summary: 'Create a user',
  description: 'Without a `password` a strong one is made; it is in this answer and nowhere else.',
  body: jsonBody(userBody, { colleague: { email: USER.email, role: 'sender' } }),
  answers: {
    201: json(
      'Created.',
      userWithPassword,
      answered(201, 'User created', { ...USER, password: 'mX4-tR9kLw2cQ7vBz1Ynd0Hs' }),
      NO_STORE,
    ),
  },
  errors: ['name_taken', 'limit_reached'],
};

const changeUser: Operation = {
  ...A_USER,
  id: 'changeUser',
  access: { role: 'admin' },
  summary: 'Change a user’s role',
  description: 'Only an owner makes owners, or takes that from one.',
  body: jsonBody(userChangeBody, { promote: { role: 'admin' } }),
  answers: {
    200: json('Changed.', changedUser, answered(200, 'Role changed', { ...USER, role: 'admin' })),
  },
  errors: ['last_admin'],
};

const disableUser: Operation = {
  ...A_USER,
  id: 'disableUser',
  access: { role: 'admin' },
  summary: 'Disable a user',
  description: 'Sessions end at once here, and within 5 seconds on every process.',
  body: EMPTY,
  answers: {
    200: json('Disabled.', changedUser, answered(200, 'User disabled', { ...USER, disabledAt: EXAMPLE.at })),
  },
  errors: ['last_admin'],
};

const enableUser: Operation = {
  ...A_USER,
  id: 'enableUser',
  access: { role: 'admin' },
  summary: 'Enable a user again',
  description:
    'The user may log in again, with the password of before. Sessions that ended stay ended. Repeating it changes nothing.',
  body: EMPTY,
  answers: { 200: json('Enabled.', changedUser, answered(200, 'User enabled', USER)) },
};

const resetPassword: Operation = {
  ...A_USER,
  id: 'resetPassword',
  access: { role: 'admin' },
  summary: 'Give a user a new password',
  description: 'Ends the user’s sessions. Without a `password` a strong one is generated, and shown once.',
  body: { ...jsonBody(passwordBody, { made: {} }), optional: true },
  answers: {
    200: json(
      'Reset.',
      userWithPassword,
      answered(200, 'Password reset', { ...USER, password: 'hT7-wQ2zKx9mRb4cVn1Lyd8F' }),
      NO_STORE,
    ),
  },
};
