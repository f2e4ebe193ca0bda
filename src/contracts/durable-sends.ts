import type { z } from 'zod';
import { additions, window } from './campaign-additions';
import { callOptions, message } from './send';

/** A message that is sent by a workflow of its own (api.md 8): a Message, and how to go about it. */
const redials = additions.voice.unwrap().pick({ retry: true, maxAttempts: true });

export const durableSendBody = message
  .safeExtend({
    retry: additions.delivery.unwrap().shape.retry.meta({
      description: 'Of what failed for the moment: how often in all, and how long to wait.',
    }),
    window: window.optional().meta({
      description:
        'Hours in which it may be sent, also when it is tried again. An email address does not tell whose clocks: without a zone they are those of UTC.',
    }),
    voice: callOptions
      .safeExtend(redials.shape)
      .meta({ id: 'DurableCallOptions' })
      .optional()
      .meta({ description: 'Calls only: how the call is made, and redialling by how one ended.' }),
  })
  .meta({ id: 'DurableSendBody' });

export type DurableSendBody = z.output<typeof durableSendBody>;
