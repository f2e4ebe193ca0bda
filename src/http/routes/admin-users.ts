import { passwordBody, userBody, userChangeBody, userListQuery } from '../../contracts/admin';
import { emptyBody } from '../../contracts/campaigns';
import { answer, idParams, timestamp } from '../../contracts/common';
import type { Actor, UserRecord, Users } from '../../messaging/access/users';
import { type Caller, callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import {
  changeUser,
  createUser,
  disableUser,
  enableUser,
  listUsers,
  resetPassword,
} from '../operations/admin';
import type { App } from '../routing';
import { parseBody } from '../validation';

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
