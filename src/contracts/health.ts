import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { id } from './envelope';

/** Answers about the process itself, which need no credentials, and answers to carriers. */
export const alive = z.strictObject({ status: z.literal('ok') });

export const ready = z.strictObject({
  status: z.literal('ready'),
  checks: z
    .record(z.string(), z.literal(true))
    .meta({ description: 'What the process depends on, by name.' }),
  accounts: z
    .array(
      z.strictObject({
        channel: z.enum(CHANNELS),
        kind: z.string(),
        account: id.optional(),
        state: z.enum(['ok', 'paused', 'throttled']),
        reason: z.string().optional(),
        since: z.iso.datetime().optional(),
        nextTryAt: z.iso.datetime().optional(),
      }),
    )
    .meta({
      description:
        'The accounts at the carriers. While one is `paused` its carrier refuses it: messages wait, and single ones are tried until one is taken. `throttled`: the carrier asked for a pause.',
    }),
});
