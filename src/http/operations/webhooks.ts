import {
  deletedWebhook,
  newWebhook,
  redelivered,
  savedWebhook,
  webhookDeliveries,
  webhookDelivery,
  webhooks,
} from '../../contracts/answers/webhooks';
import { emptyBody } from '../../contracts/campaigns';
import { redeliverBody, webhookBody, webhookChange } from '../../contracts/webhooks';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE, page } from './examples';

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

export const listWebhooks: Operation = {
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

export const createWebhook: Operation = {
  id: 'createWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  tag,
  summary: 'Create a webhook',
  description:
    'From now on the address is told what happens, at least once each, signed as Standard Webhooks 1.0 says. `events` are types such as `message.delivered` and `campaign.completed`, families (`message.*`, `campaign.*`), or `*`. The secret is in this answer and nowhere else.',
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

export const readWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'readWebhook',
  access: { role: 'viewer', scopes: ['read'] },
  summary: 'Read a webhook',
  description:
    'The webhook without its secret. `disabledAt` says since when nothing is delivered to it, because its receiver answered 410, failed for too long, or because you disabled it.',
  answers: { 200: json('The webhook, and how it fares.', savedWebhook, answered(200, 'Webhook', WEBHOOK)) },
};

export const changeWebhook: Operation = {
  ...A_WEBHOOK,
  id: 'changeWebhook',
  access: { role: 'sender', scopes: ['webhooks'] },
  summary: 'Change, disable or enable a webhook',
  description:
    'Only what is given changes. While it is disabled it is told nothing; enabled again, it is told what happens from then on, and what was waiting before.',
  body: jsonBody(webhookChange, { enable: { events: WEBHOOK.events, enabled: true } }),
  answers: { 200: json('Changed.', savedWebhook, answered(200, 'Webhook changed', WEBHOOK)) },
  errors: ['private_target'],
};

export const deleteWebhook: Operation = {
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

export const rotateWebhookSecret: Operation = {
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

export const testWebhook: Operation = {
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

export const listWebhookDeliveries: Operation = {
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

export const redeliver: Operation = {
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

export const redeliverFailed: Operation = {
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
