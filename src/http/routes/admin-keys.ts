import { adminListQuery, apiKeyBody } from '../../contracts/admin';
import { answer, idParams, timestamp } from '../../contracts/common';
import type { ApiKey, ApiKeys } from '../../messaging/access/api-keys';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import { createApiKey, listApiKeys, revokeApiKey } from '../operations/admin';
import type { App } from '../routing';

/** The API keys of the caller's workspace (api.md 11). */
export function adminKeyRoutes(apiKeys: ApiKeys): (app: App) => void {
  const config = { auth: 'session' } as const;
  const secretive = { auth: 'session', idempotent: 'secret' } as const;

  return (app) => {
    app.get(
      '/api/admin/api-keys',
      { config, schema: { operation: listApiKeys, querystring: adminListQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const { keys, total } = await apiKeys.list(callerOf(request).workspaceId, request.query);
        return { ...answer(200, 'API keys', keys.map(present)), pagination: { page, limit, total } };
      },
    );

    app.post(
      '/api/admin/api-keys',
      { config: secretive, schema: { operation: createApiKey, body: apiKeyBody } },
      async (request, reply) => {
        const { workspaceId } = callerOf(request);
        const { apiKey, key } = await apiKeys.create(workspaceId, request.body, generatorOf(request));
        reply.code(201).header('cache-control', 'no-store');
        return answer(201, 'API key created', { ...present(apiKey), key });
      },
    );

    app.delete(
      '/api/admin/api-keys/:id',
      { config, schema: { operation: revokeApiKey, params: idParams } },
      async (request) => {
        const revoked = await apiKeys.revoke(callerOf(request).workspaceId, request.params.id);
        return answer(200, 'API key revoked', present(revoked));
      },
    );
  };
}

const present = ({ createdAt, revokedAt, ...apiKey }: ApiKey) => ({
  ...apiKey,
  createdAt: timestamp(createdAt),
  revokedAt: revokedAt && timestamp(revokedAt),
});
