import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { isEventPattern, WEBHOOK_DELIVERY_STATES } from '../domain/webhook';
import { cursorQuery, emptyAsAbsent, id, idCursor, instant, pageLimit, pageNumber } from './common';
import { finding, refused } from './finding';

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

export const webhookDeliveryParams = z.object({ id, deliveryId: id });

export const redeliverBody = z
  .strictObject({
    since: instant.optional(),
    state: z.literal('failed').default('failed'),
  })
  .prefault({});

export type WebhookInput = z.output<typeof webhookBody>;
export type WebhookChange = z.output<typeof webhookChange>;
export type WebhookDeliveryQuery = z.output<typeof webhookDeliveryQuery>;
