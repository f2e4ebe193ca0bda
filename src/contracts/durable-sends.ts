import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES } from '../domain/recipient';
import { additions, window } from './campaign-additions';
import { channel, count, id, success, time } from './envelope';
import { callOptions, message } from './send';
import { stopped } from './stop';

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

/** What the durable sends' endpoints answer (api.md 8). */
export const durableSend = success(
  z
    .strictObject({
      id,
      uid: z.string().max(LIMITS.uidChars).meta({ description: 'The caller’s.' }),
      workflowId: z.string().meta({ description: 'Of Temporal.' }),
      channel,
      state: z.enum(RECIPIENT_STATES).meta({ description: 'As of a campaign’s recipient.' }),
      outcome: z.string().nullable().meta({ description: 'Calls: what the latest one came to.' }),
      code: z.string().nullable().meta({ description: 'Why it waits, or ended as it did.' }),
      messageUid: z
        .string()
        .nullable()
        .meta({ description: 'Of the latest message at the service that it is sent through.' }),
      attempts: count,
      cancelRequested: z.boolean(),
      dueAt: time.nullable().meta({ description: 'When it is sent, or tried again.' }),
      createdAt: time,
      startedAt: time.nullable(),
      acceptedAt: time.nullable().meta({ description: 'By the service, of the latest message.' }),
      sentAt: time.nullable(),
      finishedAt: time.nullable(),
      updatedAt: time,
      stopped,
    })
    .meta({ id: 'DurableSend' }),
);
