import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { type Route, routeSender } from '../domain/route';
import { DOMAIN, senderOf } from './addresses';
import { givenId } from './common';
import { id, success } from './envelope';
import { finding, refused } from './validation-issue';

/** What owners write about routes (api.md 15). All of it is ours, so all of it is strict. */

const accounts = z
  .array(z.strictObject({ account: givenId, weight: z.number().min(0).max(1_000_000).optional() }))
  .min(1)
  .max(LIMITS.routeAccounts)
  .refine(
    (value) => new Set(value.map(({ account }) => account)).size === value.length,
    refused('repeated', 'Each account may stand here once'),
  )
  .refine(
    (value) => value.length === 0 || value.some(({ weight }) => weight !== 0),
    refused('invalid_value', 'At least one account needs a weight above 0'),
  );

const route = z
  .strictObject({
    channel: z.enum(CHANNELS),
    workspace: givenId.optional(),
    sender: z.string().trim().optional(),
    toPrefix: z
      .string()
      .regex(/^\+[1-9]\d{0,14}$/, 'This must be the beginning of a phone number, such as +44')
      .optional(),
    class: z.enum(['marketing', 'transactional']).optional(),
    accounts,
    failover: z.boolean().optional(),
  })
  .superRefine(
    (value, context) => {
      if (value.channel === 'email' && value.toPrefix !== undefined) {
        context.addIssue(finding('not_applicable', 'This is for phone numbers', ['toPrefix']));
      }
      checkSender(value, context);
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

function checkSender(
  value: { channel: Channel; sender?: string | undefined },
  context: z.core.$RefinementCtx,
) {
  const { channel, sender } = value;
  if (typeof sender !== 'string' || !CHANNELS.includes(channel)) return;
  if (channel === 'email' && DOMAIN.test(sender)) value.sender = sender.toLowerCase();
  else {
    const checked = channel === 'email' ? undefined : senderOf[channel].safeParse(sender);
    if (checked?.success) value.sender = routeSender(channel, checked.data);
    else context.addIssue(finding('invalid_sender', 'This is not a sender of this channel', ['sender']));
  }
}

export const routesBody = z
  .strictObject({ routes: z.array(route).max(LIMITS.routes) })
  .transform(({ routes }) => ({ routes: routes as Route[] }));

const storedRoute = z
  .strictObject({
    channel: z.enum(CHANNELS),
    workspace: id.optional(),
    sender: z.string().optional().meta({ description: 'Of email, a domain.' }),
    toPrefix: z.string().optional(),
    class: z.enum(['marketing', 'transactional']).optional(),
    accounts: z.array(z.strictObject({ account: id, weight: z.number().optional() })),
    failover: z.boolean().optional(),
  })
  .meta({ id: 'Route' });

export const routes = success(z.strictObject({ routes: z.array(storedRoute) }));
