import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, type RecipientState } from '../domain/recipient';
import { call } from './campaign-calls';
import { ofRun } from './campaign-runs';
import { cursorQuery, emptyAsAbsent, INT_MAX, searchTerm } from './common';
import { channel, count, cursorPageOf, id, success, time } from './envelope';
import { stopped } from './stop';

const recipientFilter = {
  ...ofRun,
  channel: emptyAsAbsent(z.enum(CHANNELS).optional()),
  state: emptyAsAbsent(z.enum(RECIPIENT_STATES).optional()),
  code: emptyAsAbsent(z.string().max(LIMITS.searchChars).optional()),
  search: emptyAsAbsent(
    searchTerm
      .optional()
      .meta({ description: 'An external id, an email address or a phone number, or how one begins.' }),
  ),
};

export const recipientQuery = z.object({ ...cursorQuery, ...recipientFilter });

/** An export is read whole. */
export const recipientExportQuery = z.object(recipientFilter);

/** Where a listing of recipients stopped, as its cursor holds it. */
export const recipientPosition = z.object({ channel: z.enum(CHANNELS), seq: z.int().min(0).max(INT_MAX) });

/**
 * Recipients that are added to a campaign (api.md 19): the envelope alone, because each row is checked by
 * itself.
 */
export const recipientsBody = z.strictObject({
  recipients: z.array(z.unknown()).max(LIMITS.contactsPerRequest),
});

export const recipient = z
  .strictObject({
    id,
    contactId: id,
    channel,
    address: z.string().nullable().meta({ description: 'Null once the person was erased.' }),
    state: z.enum(RECIPIENT_STATES),
    outcome: z.string().nullable(),
    code: z.string().nullable(),
    attempts: count,
    uid: z.string().meta({ description: 'Of the message, at the service that it is sent through.' }),
    dueAt: time.nullable().meta({ description: 'When they are sent to, or tried again.' }),
    updatedAt: time,
    calls: z
      .array(call)
      .max(LIMITS.callsListed)
      .optional()
      .meta({ description: 'On the voice channel: the latest calls, oldest first.' }),
  })
  .meta({ id: 'Recipient' });

export const recipients = cursorPageOf(recipient).extend({ stopped });

export const outcomes = success(
  z
    .array(
      z.strictObject({
        channel,
        state: z.enum(RECIPIENT_STATES),
        code: z.string().nullable(),
        count: count.min(1),
      }),
    )
    .max(LIMITS.outcomesListed),
);

const points = z
  .string()
  .regex(/^\d{1,4}$/, 'This must be a whole number')
  .transform(Number)
  .pipe(z.number().min(1).max(LIMITS.timelinePoints))
  .meta({ type: 'integer', minimum: 1, maximum: LIMITS.timelinePoints });

export const timelineQuery = z.object({
  ...ofRun,
  points: emptyAsAbsent(points.default(LIMITS.timelinePointsDefault)),
});

const entered = Object.fromEntries(RECIPIENT_STATES.map((state) => [state, count.optional()])) as Record<
  RecipientState,
  z.ZodOptional<typeof count>
>;

export const timeline = success(
  z
    .strictObject({
      channels: z.partialRecord(
        channel,
        z.strictObject({
          stepSeconds: z.int().min(1),
          points: z.array(z.strictObject({ at: time, ...entered })),
        }),
      ),
    })
    .meta({ id: 'CampaignTimeline' }),
);
