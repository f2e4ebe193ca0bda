import {
  adminListQuery,
  changedClient,
  clientBody,
  clients,
  clientWithSecret,
  rotateBody,
} from '../contracts/admin';
import { emptyBody } from '../contracts/campaigns';
import { answer, idParams, timestamp } from '../contracts/common';
import type { ApiClient, Clients } from '../messaging/access/clients';
import { answered, EMPTY, EXAMPLE, NO_STORE, page, paged } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

/** The clients of the token endpoint that belong to the caller's workspace (api.md 11). */
export function adminClientRoutes(clients: Clients): (app: App) => void {
  const config = { auth: 'session' } as const;
  const secretive = { auth: 'session', idempotent: 'secret' } as const;

  return (app) => {
    app.get(
      '/api/admin/clients',
      { config, schema: { operation: listClients, querystring: adminListQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const { clients: found, total } = await clients.list(callerOf(request).workspaceId, request.query);
        return { ...answer(200, 'Clients', found.map(present)), pagination: { page, limit, total } };
      },
    );

    app.post(
      '/api/admin/clients',
      { config: secretive, schema: { operation: createClient, body: clientBody } },
      async (request, reply) => {
        const { workspaceId } = callerOf(request);
        const { client, secret } = await clients.create(workspaceId, request.body, generatorOf(request));
        reply.code(201).header('cache-control', 'no-store');
        return answer(201, 'Client created', { ...present(client), secret });
      },
    );

    const one = { params: idParams };
    app.post(
      '/api/admin/clients/:id/rotate',
      { config: secretive, schema: { operation: rotateSecret, ...one } },
      async (request, reply) => {
        const input = parseBody(rotateBody, request.body);
        const { workspaceId } = callerOf(request);
        const { client, secret } = await clients.rotate(
          workspaceId,
          request.params.id,
          input,
          generatorOf(request),
        );
        reply.header('cache-control', 'no-store');
        return answer(200, 'Secret rotated', { ...present(client), secret });
      },
    );

    app.post(
      '/api/admin/clients/:id/disable',
      { config, schema: { operation: disableClient, ...one } },
      async (request) => {
        parseBody(emptyBody, request.body);
        const client = await clients.disable(callerOf(request).workspaceId, request.params.id);
        return answer(200, 'Client disabled', present(client));
      },
    );

    app.post(
      '/api/admin/clients/:id/enable',
      { config, schema: { operation: enableClient, ...one } },
      async (request) => {
        parseBody(emptyBody, request.body);
        const client = await clients.enable(callerOf(request).workspaceId, request.params.id);
        return answer(200, 'Client enabled', present(client));
      },
    );
  };
}

const present = ({ createdAt, disabledAt, oldSecretValidTill, ...client }: ApiClient) => ({
  ...client,
  createdAt: timestamp(createdAt),
  disabledAt: disabledAt && timestamp(disabledAt),
  oldSecretValidTill: oldSecretValidTill && timestamp(oldSecretValidTill),
});

const tag = 'Administration';

const CLIENT = {
  id: EXAMPLE.client,
  name: 'Shop backend',
  scopes: ['campaigns' as const, 'send' as const],
  createdAt: EXAMPLE.at,
  disabledAt: null,
  oldSecretValidTill: null,
};
const A_CLIENT = { tag, parameters: { id: EXAMPLE.client } } as const;

const listClients: Operation = {
  id: 'listClients',
  access: { role: 'admin' },
  tag,
  summary: 'List clients of the token endpoint',
  description:
    'The clients of the workspace, newest first. Secrets are never shown: only their hashes are stored.',
  parameters: paged,
  answers: {
    200: json('A page of clients.', clients, { ...answered(200, 'Clients', [CLIENT]), pagination: page(1) }),
  },
};

const createClient: Operation = {
  id: 'createClient',
  access: { role: 'admin' },
  tag,
  summary: 'Create a client of the token endpoint',
  description: 'Its secret is in this answer and nowhere else.',
  body: jsonBody(clientBody, { backend: { name: CLIENT.name, scopes: CLIENT.scopes } }),
  answers: {
    201: json(
      'Created.',
      clientWithSecret,
      answered(201, 'Client created', { ...CLIENT, secret: EXAMPLE.clientSecret }),
      NO_STORE,
    ),
  },
  errors: ['limit_reached'],
};

const rotateSecret: Operation = {
  ...A_CLIENT,
  id: 'rotateSecret',
  access: { role: 'admin' },
  summary: 'Give a client a new secret',
  description:
    'The old one works on for `overlapHours`, so that backends can be changed one after the other. `revokeTokens` ends what was issued until now, as after a theft. The client `Campaigns` of a workspace is not rotated: its secret follows from that of the client in credentials.json.',
  body: { ...jsonBody(rotateBody, { day: { overlapHours: 24 } }), optional: true },
  answers: {
    200: json(
      'Rotated.',
      clientWithSecret,
      answered(200, 'Secret rotated', {
        ...CLIENT,
        oldSecretValidTill: '2026-11-22T10:15:00.000Z',
        secret: 'ffs_x2Gk9VbQ5wRz1LmTc8NyHs4PdJf7AeUi0KoBtXyE3w6',
      }),
      NO_STORE,
    ),
  },
  errors: ['limit_reached', 'campaigns_client'],
};

const disableClient: Operation = {
  ...A_CLIENT,
  id: 'disableClient',
  access: { role: 'admin' },
  summary: 'Disable a client',
  description: 'Its tokens stop at once here, and within 5 seconds on every process.',
  body: EMPTY,
  answers: {
    200: json(
      'Disabled.',
      changedClient,
      answered(200, 'Client disabled', { ...CLIENT, disabledAt: EXAMPLE.at }),
    ),
  },
};

const enableClient: Operation = {
  ...A_CLIENT,
  id: 'enableClient',
  access: { role: 'admin' },
  summary: 'Enable a client again',
  description: 'The client may fetch tokens again, with the secret of before. Repeating it changes nothing.',
  body: EMPTY,
  answers: { 200: json('Enabled.', changedClient, answered(200, 'Client enabled', CLIENT)) },
};
