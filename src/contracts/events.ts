import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { EVENT_TYPES } from '../domain/message';
import { emptyAsAbsent, pageLimit } from './common';
import { channel, count, id, time } from './envelope';
import { state, uid } from './send';

export const eventFeed = z.object({
  after: emptyAsAbsent(z.string().max(LIMITS.idChars).optional()),
  limit: emptyAsAbsent(pageLimit(LIMITS.longPageSizeMax).default(LIMITS.longPageSizeMax)),
  wait: emptyAsAbsent(
    z
      .string()
      .regex(/^\d{1,4}(\.\d{1,3})?$/, 'This must be a number of seconds')
      .transform(Number)
      .pipe(z.number().max(LIMITS.feedWaitSecondsMax))
      .meta({ type: 'number', minimum: 0, maximum: LIMITS.feedWaitSecondsMax })
      .default(0),
  ),
});

export const event = z
  .strictObject({
    seq: z.int().min(0).meta({ description: 'Where it stands in the order of the workspace’s events.' }),
    at: time,
    uid,
    id,
    channel,
    campaign: z.string().optional(),
    type: z.enum(EVENT_TYPES),
    state: state.meta({ description: 'Of the message, after this event.' }),
    code: z.string().optional(),
    provider: z.string().optional(),
    attempt: count.optional(),
    data: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'What the carrier reported besides.' }),
  })
  .meta({ id: 'MessageEvent' });

export const events = z.strictObject({
  result: z.literal('success'),
  status: z.int(),
  message: z.string(),
  data: z.array(event),
  next: z.string().meta({ description: 'Goes back as `after`; never null, since more will come.' }),
});
