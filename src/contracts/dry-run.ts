import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { SKIP_REASONS } from '../domain/recipient';
import { rejected } from './campaigns';
import { count, id, perChannel, success, tally, time } from './envelope';
import { warnings } from './problem';

export const forecast = z
  .strictObject({
    contacts: count.meta({ description: 'Of the lists, each once. Recipients and all skipped sum to it.' }),
    recipients: count,
    skipped: tally(SKIP_REASONS).meta({ description: 'By the first reason that holds for a contact.' }),
    segments: count.optional().meta({
      description: 'SMS: of all messages together. Left out where the service does not tell the text.',
    }),
    longest: count.optional().meta({ description: 'SMS: segments of the longest message.' }),
    offenders: z
      .array(z.strictObject({ contactId: id, missing: z.array(z.string()) }))
      .max(LIMITS.dryRunOffenders)
      .meta({ description: 'The first contacts of those that miss values, with the names.' }),
    earliest: time.nullable().meta({
      description:
        'When the first recipients are due, by the schedule and all hours; null without recipients.',
    }),
    latest: time
      .nullable()
      .meta({ description: 'The same of the last ones. How long sending takes is not in it.' }),
  })
  .meta({ id: 'Forecast' });

export const dryRun = success(
  z
    .strictObject({
      channels: perChannel(forecast),
      durationSeconds: count.nullable().meta({
        description:
          'At the pace that the campaign sets, or at its senders’ limits if they are slower, with the waits between its stages; null when none of these is there.',
      }),
      warnings,
      rejected,
    })
    .meta({ id: 'DryRun' }),
);
