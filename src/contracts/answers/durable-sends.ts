import { z } from 'zod';
import { LIMITS } from '../../domain/limits';
import { RECIPIENT_STATES } from '../../domain/recipient';
import { channel, count, id, success, time } from './envelope';
import { stopped } from './stop';

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
