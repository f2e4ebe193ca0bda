import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { DISABLED_REASONS, isEventPattern, WEBHOOK_DELIVERY_STATES } from '../domain/webhook';
import { cursorQuery, emptyAsAbsent, givenId, idCursor, instant, pageLimit, pageNumber } from './common';
import { count, cursorPageOf, id, pageOf, success, time } from './envelope';
import { finding, refused } from './validation-issue';

/** What callers of the webhook endpoints write (api.md 10). All of it is ours, so all of it is strict. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them is the point.
const CONTROL = /[\u0000-\u001f\u007f]/;

const url = z
  .string()
  .trim()
  .max(LIMITS.webhookUrlChars)
  .superRefine((value, context) => {
    const message = urlProblem(value);
    if (message) context.addIssue(finding('invalid_url', message));
  })
  .transform((value) => (URL.canParse(value) ? new URL(value).href : value));

function urlProblem(value: string): string | undefined {
  if (CONTROL.test(value) || !URL.canParse(value))
    return 'This must be an address such as https://example.com/hook';
  const { protocol, username, password } = new URL(value);
  if (protocol !== 'https:' && protocol !== 'http:') return 'This must begin with https:// or http://';
  if (username !== '' || password !== '')
    return 'This must not hold a user or password; deliveries are signed';
  return undefined;
}

const pattern = z
  .string()
  .refine(
    isEventPattern,
    refused('unknown_event', 'This is neither *, message.*, campaign.* nor the type of an event'),
  );
const events = z
  .array(pattern)
  .min(1)
  .max(LIMITS.webhookPatterns)
  .transform((patterns) => [...new Set(patterns)]);
const description = z
  .string()
  .trim()
  .max(LIMITS.webhookDescriptionChars)
  .refine(
    (value) => !CONTROL.test(value),
    refused('control_character', 'This holds line breaks or other control characters'),
  );

export const webhookBody = z.strictObject({ url, events, description: description.nullish() });

export const webhookChange = z.strictObject({
  url: url.optional(),
  events: events.optional(),
  description: description.nullish(),
  enabled: z.boolean().optional(),
});

export const webhookListQuery = z.object({
  page: emptyAsAbsent(pageNumber.default(1)),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

export const webhookDeliveryQuery = z.object({
  state: emptyAsAbsent(z.enum(WEBHOOK_DELIVERY_STATES).optional()),
  cursor: idCursor('whd'),
  limit: cursorQuery.limit,
});

export const webhookDeliveryParams = z.object({ id: givenId, deliveryId: givenId });

export const redeliverBody = z
  .strictObject({
    since: instant.optional(),
    state: z.literal('failed').default('failed'),
  })
  .prefault({});

export type WebhookInput = z.output<typeof webhookBody>;
export type WebhookChange = z.output<typeof webhookChange>;
export type WebhookDeliveryQuery = z.output<typeof webhookDeliveryQuery>;

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
    .meta({ description: 'It answered 410, it failed for days, or a call disabled it.' }),
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
  .strictObject({
    ...webhookMembers,
    secret: z.string().meta({ description: 'Shown here and never again.' }),
  })
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
