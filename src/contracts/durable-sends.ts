import type { z } from 'zod';
import { RECIPIENT_ZONE } from '../domain/time-zones/hours';
import { additions, window } from './campaign-additions';
import { message } from './send';

/** A message that is sent by a workflow of its own (api.md 8): a Message, and how to go about it. */
const calls = additions.voice
  .unwrap()
  .pick({ retry: true, maxAttempts: true, machine: true, ringTimeoutSeconds: true });

export const durableSendBody = message
  .safeExtend({
    retry: additions.delivery.unwrap().shape.retry.meta({
      description: 'Of what failed for the moment: how often in all, and how long to wait.',
    }),
    window: window
      .optional()
      .meta({ description: 'Hours in which it may be sent, also when it is tried again.' }),
    voice: calls
      .optional()
      .meta({ description: 'Calls only: how they are run, and redialled by how they ended.' }),
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
      if (value.voice !== undefined && value.channel !== 'voice') {
        context.addIssue({ code: 'custom', path: ['voice'], message: 'This is for calls only' });
      }
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .meta({ id: 'DurableSendBody' });

export type DurableSendBody = z.output<typeof durableSendBody>;
