import { adminListQuery, newWorkspace, workspaceBody, workspaces } from '../contracts/admin';
import { answer, timestamp } from '../contracts/common';
import type { Identity } from '../messaging/access/identity';
import { answered, EXAMPLE, NO_STORE, page, paged } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';

/** The customers of the installation; only an owner lists and creates them (api.md 11). */
export function adminWorkspaceRoutes(
  identity: Pick<Identity, 'createWorkspace' | 'listWorkspaces'>,
): (app: App) => void {
  return (app) => {
    app.get(
      '/api/admin/workspaces',
      { config: { auth: 'session' }, schema: { operation: listWorkspaces, querystring: adminListQuery } },
      async ({ query: { page, limit } }) => {
        const { workspaces: found, total } = await identity.listWorkspaces({ page, limit });
        const listed = found.map((one) => ({ ...one, createdAt: timestamp(one.createdAt) }));
        return { ...answer(200, 'Workspaces', listed), pagination: { page, limit, total } };
      },
    );

    app.post(
      '/api/admin/workspaces',
      {
        config: { auth: 'session', idempotent: 'secret' },
        schema: { operation: createWorkspace, body: workspaceBody },
      },
      async (request, reply) => {
        const made = await identity.createWorkspace(request.body, generatorOf(request));
        return reply
          .code(201)
          .header('cache-control', 'no-store')
          .send({ success: true, ...made });
      },
    );
  };
}

const tag = 'Administration';

const listWorkspaces: Operation = {
  id: 'listWorkspaces',
  access: { role: 'owner' },
  tag,
  summary: 'List workspaces',
  description:
    'All workspaces of the installation, newest first, each with its id and name. What is in them is shown only to their own users.',
  parameters: paged,
  answers: {
    200: json('A page of workspaces.', workspaces, {
      ...answered(200, 'Workspaces', [
        { id: EXAMPLE.workspace, name: 'Harbour Books', createdAt: EXAMPLE.at },
      ]),
      pagination: page(1),
    }),
  },
};

const createWorkspace: Operation = {
  id: 'createWorkspace',
  access: { role: 'owner' },
  tag,
  summary: 'Create a workspace',
  description:
    'With everything that a newcomer needs to begin: a user, a client and a key. The secrets are in this answer and nowhere else. Only an owner may.',
  body: jsonBody(workspaceBody, { shop: { name: 'Harbour Books', email: EXAMPLE.email } }),
  answers: {
    201: json(
      'Created.',
      newWorkspace,
      {
        success: true,
        workspace: { id: EXAMPLE.workspace, name: 'Harbour Books' },
        user: { id: EXAMPLE.user, email: EXAMPLE.email, password: EXAMPLE.password },
        client: {
          id: 'cli_01kb7d3m8q2w6x0z4c9',
          secret: 'ffs_n4Hq8TzRk2YwLc6GmJd0BxVs9PfAeUi3Ko7XtNyE1w5',
        },
        apiKey: 'ffk_t6Yb1WzQk8RmLc3VxJd5GsPf9AeUi2Ko7NtByE0n4Xh',
      },
      NO_STORE,
    ),
  },
  errors: ['name_taken'],
};
