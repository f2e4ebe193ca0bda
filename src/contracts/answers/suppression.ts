import { z } from 'zod';
import { SUPPRESSION_CHANNELS, SUPPRESSION_SOURCES } from '../../domain/suppression';
import { channel, count, id, importReport, pageOf, success, time } from './envelope';

/** What the endpoints of suppression and of senders' limits answer (api.md 9). */
const suppression = z
  .strictObject({
    id,
    channel: z.enum(SUPPRESSION_CHANNELS),
    address: z.string().nullable().meta({ description: 'Null for a person who was erased: a hash is kept.' }),
    reason: z.string(),
    scope: z.string().meta({ description: '`workspace`, or `sender:` and one sender.' }),
    source: z.enum(SUPPRESSION_SOURCES),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Suppression' });

export const suppressed = success(suppression);
export const suppressions = pageOf(suppression);
export const importedSuppressions = success(importReport);
export const liftedSuppression = success(
  z.strictObject({
    removed: count,
    stillSuppressed: z
      .boolean()
      .meta({ description: 'Another block, of another channel or sender, still covers the address.' }),
  }),
);

const senderLimit = z
  .strictObject({
    channel,
    sender: z.string(),
    rate: z.number().nullable().meta({ description: 'A second: emails, SMS segments or calls.' }),
    burst: count.nullable(),
    concurrentCalls: count.nullable(),
    updatedAt: time,
  })
  .meta({ id: 'SenderLimit' });

export const senderLimits = pageOf(senderLimit);
export const savedSenderLimit = success(senderLimit);
export const liftedSenderLimit = success(z.strictObject({ channel }));
