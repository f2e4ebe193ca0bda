import { z } from 'zod';
import { DISABLED_REASONS, WEBHOOK_DELIVERY_STATES } from '../../domain/webhook';
import { count, cursorPageOf, id, pageOf, success, time } from './envelope';

/** What the webhook endpoints answer (api.md 10). */
const webhookMembers = {
  id,
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  enabled: z.boolean(),
  disabledAt: time.nullable(),
  disabledReason: z
    .enum(DISABLED_REASONS)
    .nullable()
    .meta({ description: 'It answered 410, it failed for days, or somebody wanted so.' }),
  failingSince: time
    .nullable()
    .meta({ description: 'When the first of the failures came after which there was no success.' }),
  pausedUntil: time.nullable().meta({ description: 'It asked for less with `Retry-After`.' }),
  lastSuccessAt: time.nullable(),
  oldSecretValidTill: time
    .nullable()
    .meta({ description: 'Until when deliveries are signed with a replaced secret too.' }),
  pending: count.meta({ description: 'Deliveries that are to be made.' }),
  unread: count.meta({ description: 'Events of the feed that are behind those, wanted or not.' }),
  missed: count.meta({ description: 'Events that were deleted by their age before they could be read.' }),
  createdAt: time,
  updatedAt: time,
};
const webhook = z.strictObject(webhookMembers).meta({ id: 'Webhook' });
const webhookWithSecret = z
  .strictObject({ ...webhookMembers, secret: z.string().meta({ description: 'Told here and never again.' }) })
  .meta({ id: 'WebhookWithSecret' });

const delivery = z
  .strictObject({
    id: id.meta({ description: 'What the receiver gets as `webhook-id`, the same with every attempt.' }),
    type: z.string(),
    sequence: count.nullable().meta({ description: 'Number in the event feed, of `message` events.' }),
    state: z.enum(WEBHOOK_DELIVERY_STATES),
    attempts: count,
    status: z.int().nullable().meta({ description: 'HTTP status of the last answer.' }),
    code: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
    answer: z.string().nullable().meta({ description: 'How the last answer’s body begins.' }),
    dueAt: time.nullable(),
    lastAttemptAt: time.nullable(),
    createdAt: time,
  })
  .meta({ id: 'WebhookDelivery' });

export const webhooks = pageOf(webhook);
export const savedWebhook = success(webhook);
export const newWebhook = success(webhookWithSecret);
export const deletedWebhook = success(z.strictObject({ id }));
export const webhookDelivery = success(delivery);
export const webhookDeliveries = cursorPageOf(delivery);
export const redelivered = success(
  z.strictObject({
    redelivered: count,
    more: z.boolean().meta({ description: 'There are more than one call takes; repeat it.' }),
  }),
);
