import type { z } from 'zod';
import { RECIPIENT_ZONE } from '../domain/time-zones/hours';
import { additions, window } from './campaign-additions';
import { callOptions, message } from './send';

/** A message that is sent by a workflow of its own (api.md 8): a Message, and how to go about it. */
const redials = additions.voice.unwrap().pick({ retry: true, maxAttempts: true });

export const durableSendBody = message
  .safeExtend({
    retry: additions.delivery.unwrap().shape.retry.meta({
      description: 'Of what failed for the moment: how often in all, and how long to wait.',
    }),
    window: window
      .optional()
      .meta({ description: 'Hours in which it may be sent, also when it is tried again.' }),
    voice: callOptions
      .safeExtend(redials.shape)
      .meta({ id: 'DurableCallOptions' })
      .optional()
      .meta({ description: 'Calls only: how the call is made, and redialling by how one ended.' }),
  })
  .superRefine(
    (value, context) => {
      if (
        value.channel === 'email' &&
        value.window &&
        (value.window.timezone ?? RECIPIENT_ZONE) === RECIPIENT_ZONE
      ) {
        const message = 'An email address does not tell where its owner is: name a time zone';
        context.addIssue({ code: 'custom', path: ['window', 'timezone'], message });
      }
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .meta({ id: 'DurableSendBody' });

export type DurableSendBody = z.output<typeof durableSendBody>;
