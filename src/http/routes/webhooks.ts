import { emptyBody } from '../../contracts/campaigns';
import { answer, idParams, timestamp } from '../../contracts/common';
import {
  redeliverBody,
  webhookBody,
  webhookChange,
  webhookDeliveryParams,
  webhookDeliveryQuery,
  webhookListQuery,
} from '../../contracts/webhooks';
import type { WebhookDelivery } from '../../messaging/webhooks/deliveries';
import type { Webhook, Webhooks } from '../../messaging/webhooks/webhooks';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhookDeliveries,
  listWebhooks,
  readWebhook,
  redeliver,
  redeliverFailed,
  rotateWebhookSecret,
  testWebhook,
} from '../operations/webhooks';
import type { App } from '../routing';
import { parseBody } from '../validation';

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

    deliveryRoutes(app, webhooks);
  };
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
