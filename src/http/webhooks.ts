import { emptyBody } from '../contracts/campaigns';
import { answer, idParams, timestamp } from '../contracts/common';
import {
  deletedWebhook,
  newWebhook,
  redeliverBody,
  redelivered,
  savedWebhook,
  webhookBody,
  webhookChange,
  webhookDeliveries,
  webhookDelivery,
  webhookDeliveryParams,
  webhookDeliveryQuery,
  webhookListQuery,
  webhooks,
} from '../contracts/webhooks';
import type { WebhookDelivery } from '../messaging/webhooks/deliveries';
import type { Webhook, Webhooks } from '../messaging/webhooks/webhooks';
import { answered, EXAMPLE, page } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

const config = { auth: 'app' } as const;
const creating = { auth: 'app', idempotent: true } as const;
const secretive = { auth: 'app', idempotent: 'secret' } as const;
const one = { params: idParams };

/** A workspace's webhook endpoints (api.md 10). */
export function webhookRoutes(webhooks: Webhooks): (app: App) => void {
  return (app) => {
    app.get(
      '/api/webhook',
      { config, schema: { operation: listWebhooks, querystring: webhookListQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const { webhooks: found, total } = await webhooks.list(callerOf(request).workspaceId, request.query);
        return { ...answer(200, 'Webhooks', found.map(present)), pagination: { page, limit, total } };
      },
    );

    app.post(
      '/api/webhook',
      { config: secretive, schema: { operation: createWebhook, body: webhookBody } },
      async (request, reply) => {
        const { workspaceId } = callerOf(request);
        const { webhook, secret } = await webhooks.create(workspaceId, request.body, generatorOf(request));
        reply.code(201).header('cache-control', 'no-store');
        return answer(201, 'Webhook created', { ...present(webhook), secret });
      },
    );

    app.get('/api/webhook/:id', { config, schema: { operation: readWebhook, ...one } }, async (request) => {
      const webhook = await webhooks.read(callerOf(request).workspaceId, request.params.id);
      return answer(200, 'Webhook', present(webhook));
    });

    app.patch(
      '/api/webhook/:id',
      { config, schema: { operation: changeWebhook, ...one, body: webhookChange } },
      async (request) => {
        const { workspaceId } = callerOf(request);
        const webhook = await webhooks.change(workspaceId, request.params.id, request.body);
        return answer(200, 'Webhook changed', present(webhook));
      },
    );

    app.delete(
      '/api/webhook/:id',
      { config, schema: { operation: deleteWebhook, ...one } },
      async (request) => {
        const { id } = request.params;
        await webhooks.delete(callerOf(request).workspaceId, id);
        return answer(200, 'Webhook deleted', { id });
      },
    );

    actionRoutes(app, webhooks);
    deliveryRoutes(app, webhooks);
  };
}

function actionRoutes(app: App, webhooks: Webhooks): void {
  app.post(
    '/api/webhook/:id/rotate-secret',
    { config: secretive, schema: { operation: rotateWebhookSecret, ...one } },
    async (request, reply) => {
      parseBody(emptyBody, request.body);
      const { workspaceId } = callerOf(request);
      const { webhook, secret } = await webhooks.rotateSecret(
        workspaceId,
        request.params.id,
        generatorOf(request),
      );
      reply.header('cache-control', 'no-store');
      return answer(200, 'Secret rotated', { ...present(webhook), secret });
    },
  );

  app.post(
    '/api/webhook/:id/test',
    { config: creating, schema: { operation: testWebhook, ...one } },
    async (request, reply) => {
      parseBody(emptyBody, request.body);
      const { workspaceId } = callerOf(request);
      const delivery = await webhooks.test(workspaceId, request.params.id, generatorOf(request));
      return reply.code(202).send(answer(202, 'Test event will be delivered', presentDelivery(delivery)));
    },
  );
}

function deliveryRoutes(app: App, webhooks: Webhooks): void {
  const listing = { operation: listWebhookDeliveries, ...one, querystring: webhookDeliveryQuery };
  app.get('/api/webhook/:id/deliveries', { config, schema: listing }, async (request) => {
    const { workspaceId } = callerOf(request);
    const { deliveries, next } = await webhooks.deliveries(workspaceId, request.params.id, request.query);
    return { ...answer(200, 'Deliveries', deliveries.map(presentDelivery)), next };
  });

  const repeating = { operation: redeliver, params: webhookDeliveryParams };
  app.post(
    '/api/webhook/:id/deliveries/:deliveryId/redeliver',
    { config, schema: repeating },
    async (request, reply) => {
      parseBody(emptyBody, request.body);
      const { id, deliveryId } = request.params;
      const delivery = await webhooks.redeliver(callerOf(request).workspaceId, id, deliveryId);
      return reply.code(202).send(answer(202, 'Will be delivered again', presentDelivery(delivery)));
    },
  );

  app.post(
    '/api/webhook/:id/redeliver',
    { config, schema: { operation: redeliverFailed, ...one } },
    async (request, reply) => {
      const { since } = parseBody(redeliverBody, request.body);
      const begun = await webhooks.redeliverFailed(callerOf(request).workspaceId, request.params.id, since);
      return reply.code(202).send(answer(202, 'Will be delivered again', begun));
    },
  );
}

const told = (date: Date | null): string | null => date && timestamp(date);

function present(webhook: Webhook) {
  const { disabledAt, failingSince, pausedUntil, lastSuccessAt, oldSecretValidTill, ...same } = webhook;
  return {
    ...same,
    disabledAt: told(disabledAt),
    failingSince: told(failingSince),
    pausedUntil: told(pausedUntil),
    lastSuccessAt: told(lastSuccessAt),
    oldSecretValidTill: told(oldSecretValidTill),
    createdAt: timestamp(webhook.createdAt),
    updatedAt: timestamp(webhook.updatedAt),
  };
}

function presentDelivery({ dueAt, lastAttemptAt, createdAt, ...same }: WebhookDelivery) {
  return { ...same, dueAt: told(dueAt), lastAttemptAt: told(lastAttemptAt), createdAt: timestamp(createdAt) };
}

const tag = 'Webhooks' as const;
const NO_STORE = { 'cache-control': '`no-store`.' };

const WEBHOOK = {
  id: EXAMPLE.webhook,
  url: 'https://hooks.harbour-books.example/fanfare',
  events: ['message.delivered', 'message.failed', 'campaign.*'],
  description: 'Orders',
  enabled: true,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  pausedUntil: null,
  lastSuccessAt: null,
  oldSecretValidTill: null,
  pending: 0,
  unread: 0,
  missed: 0,
  createdAt: EXAMPLE.at,
  updatedAt: EXAMPLE.at,
};
const A_WEBHOOK = { tag, parameters: { id: EXAMPLE.webhook } };
const EMPTY = { ...jsonBody(emptyBody, { empty: {} }), optional: true } as const;

const listWebhooks: Operation = {
  id: 'listWebhooks',
  access: { role: 'viewer', scopes: ['read'] },
  tag,
  summary: 'List webhooks',
  description:
    'The webhooks of the workspace, newest first. Secrets are shown once, when they are made, and never here.',
  parameters: { page: '1', limit: '20' },
  answers: {
    200: json('A page of webhooks.', webhooks, {
      ...answered(200, 'Webhooks', [WEBHOOK]),
      pagination: page(1),
    }),
  },
};

const createWebhook: Operation = {
  id: 'createWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  tag,
  summary: 'Create a webhook',
  description:
    'From now on events are delivered to the address, each at least once, signed as Standard Webhooks 1.0 says. `events` are types such as `message.delivered` and `campaign.completed`, families (`message.*`, `campaign.*`), or `*`. The secret is in this answer and nowhere else.',
  body: jsonBody(webhookBody, {
    shop: { url: WEBHOOK.url, events: WEBHOOK.events, description: WEBHOOK.description },
  }),
  answers: {
    201: json(
      'Created.',
      newWebhook,
      answered(201, 'Webhook created', { ...WEBHOOK, secret: EXAMPLE.webhookSecret }),
      NO_STORE,
    ),
  },
  errors: ['private_target', 'limit_reached'],
};

const readWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'readWebhook',
  access: { role: 'viewer', scopes: ['read'] },
  summary: 'Read a webhook',
  description:
    'The webhook without its secret. `disabledAt` says since when nothing is delivered to it, because its receiver answered 410, failed for too long, or because you disabled it.',
  answers: { 200: json('The webhook, and how it fares.', savedWebhook, answered(200, 'Webhook', WEBHOOK)) },
};

const changeWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'changeWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Change, disable or enable a webhook',
  description:
    'Only what is given changes. While it is disabled it gets nothing; enabled again, it gets the events from then on, and those that were waiting before.',
  body: jsonBody(webhookChange, { enable: { events: WEBHOOK.events, enabled: true } }),
  answers: { 200: json('Changed.', savedWebhook, answered(200, 'Webhook changed', WEBHOOK)) },
  errors: ['private_target'],
};

const deleteWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'deleteWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Delete a webhook with its deliveries',
  description:
    'Nothing more is delivered to it, and its past deliveries are gone. This cannot be undone; to stop deliveries for a while, disable it by PATCH.',
  answers: {
    200: json('Deleted.', deletedWebhook, answered(200, 'Webhook deleted', { id: EXAMPLE.webhook })),
  },
};

const rotateWebhookSecret: Operation = {
  ...A_WEBHOOK,
  id: 'rotateWebhookSecret',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Give a webhook a new secret',
  description:
    'For 24 hours deliveries are signed with the former secret too: two signatures with a space between them. The new one is in this answer and nowhere else.',
  body: EMPTY,
  answers: {
    200: json(
      'Rotated.',
      newWebhook,
      answered(200, 'Secret rotated', {
        ...WEBHOOK,
        oldSecretValidTill: '2026-11-22T10:15:00.000Z',
        secret: 'whsec_m0W9sT1qk2n7VbYzL8dRfHxJc4GpAeUi5oKtNyE3w6Q=',
      }),
      NO_STORE,
    ),
  },
  errors: ['limit_reached'],
};

const DELIVERY = {
  id: EXAMPLE.webhookDelivery,
  type: 'webhook.test',
  sequence: null,
  state: 'pending' as const,
  attempts: 0,
  status: null,
  code: null,
  answer: null,
  dueAt: EXAMPLE.at,
  lastAttemptAt: null,
  createdAt: EXAMPLE.at,
};

const testWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'testWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Send a test event',
  description: '`webhook.test`, whatever the webhook is for. What became of it stands in its deliveries.',
  body: EMPTY,
  answers: {
    202: json(
      'It will be delivered.',
      webhookDelivery,
      answered(202, 'Test event will be delivered', DELIVERY),
    ),
  },
  errors: ['webhook_disabled'],
};

const listWebhookDeliveries: Operation = {
  id: 'listWebhookDeliveries',
  access: { role: 'viewer', scopes: ['read'] },
  tag,
  summary: 'List deliveries of a webhook',
  description: 'Newest first: those that were taken for 3 days, those that were not for 30.',
  parameters: { id: EXAMPLE.webhook, state: 'pending', limit: '100' },
  answers: {
    200: json('A page of deliveries.', webhookDeliveries, {
      ...answered(200, 'Deliveries', [DELIVERY]),
      next: null,
    }),
  },
};

const redeliver: Operation = {
  id: 'redeliverWebhookDelivery',
  access: { role: 'sender', scopes: ['webhooks'] },
  tag,
  summary: 'Deliver an event again',
  description:
    'Under the same `webhook-id`, beginning anew with the first attempt. One that waits goes at once.',
  parameters: { id: EXAMPLE.webhook, deliveryId: EXAMPLE.webhookDelivery },
  body: EMPTY,
  answers: {
    202: json('It will be delivered.', webhookDelivery, answered(202, 'Will be delivered again', DELIVERY)),
  },
  errors: ['webhook_disabled'],
};

const redeliverFailed: Operation = {
  ...A_WEBHOOK,
  id: 'redeliverFailedDeliveries',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Deliver all again that failed for good',
  description: 'The oldest first, 1,000 with one call. `since` leaves out older ones.',
  body: { ...jsonBody(redeliverBody, { since: { since: EXAMPLE.at, state: 'failed' } }), optional: true },
  answers: {
    202: json(
      'They will be delivered.',
      redelivered,
      answered(202, 'Will be delivered again', { redelivered: 0, more: false }),
    ),
  },
  errors: ['webhook_disabled'],
};
