import { adminListQuery, clientBody, rotateBody } from '../../contracts/admin';
import { emptyBody } from '../../contracts/campaigns';
import { answer, idParams, timestamp } from '../../contracts/common';
import type { ApiClient, Clients } from '../../messaging/access/clients';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import { createClient, disableClient, enableClient, listClients, rotateSecret } from '../operations/admin';
import type { App } from '../routing';
import { parseBody } from '../validation';

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
