import { adminListQuery, apiKeyBody, apiKeys, changedApiKey, newApiKey } from '../contracts/admin';
import { answer, idParams, timestamp } from '../contracts/common';
import type { ApiKey, ApiKeys } from '../messaging/access/api-keys';
import { answered, EXAMPLE, NO_STORE, page, paged } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';

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

const tag = 'Administration';

const KEY = {
  id: EXAMPLE.apiKeyId,
  name: 'Shop backend',
  prefix: EXAMPLE.apiKey.slice(0, 10),
  scopes: ['campaigns' as const, 'send' as const],
  createdAt: EXAMPLE.at,
  revokedAt: null,
};

const listApiKeys: Operation = {
  id: 'listApiKeys',
  access: { role: 'admin' },
  tag,
  summary: 'List API keys',
  description:
    'The keys of the workspace, newest first, each by its prefix. Keys are never shown: only their hashes are stored.',
  parameters: paged,
  answers: {
    200: json('A page of keys.', apiKeys, { ...answered(200, 'API keys', [KEY]), pagination: page(1) }),
  },
};

const createApiKey: Operation = {
  id: 'createApiKey',
  access: { role: 'admin' },
  tag,
  summary: 'Create an API key',
  description: 'The key itself is in this answer and nowhere else; lists show how it begins.',
  body: jsonBody(apiKeyBody, { backend: { name: KEY.name, scopes: KEY.scopes } }),
  answers: {
    201: json(
      'Created.',
      newApiKey,
      answered(201, 'API key created', { ...KEY, key: EXAMPLE.apiKey }),
      NO_STORE,
    ),
  },
};

const revokeApiKey: Operation = {
  id: 'revokeApiKey',
  access: { role: 'admin' },
  tag,
  summary: 'Revoke an API key',
  description:
    'At once here, and within 5 seconds on every process. Repeating it is harmless. The key `Campaigns`, with which the campaigns of the workspace send, is replaced by another one: to stop them, disable the client `Campaigns`.',
  parameters: { id: EXAMPLE.apiKeyId },
  answers: {
    200: json('Revoked.', changedApiKey, answered(200, 'API key revoked', { ...KEY, revokedAt: EXAMPLE.at })),
  },
};
