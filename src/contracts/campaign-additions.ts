import { z } from 'zod';
import type { FieldCode } from '../domain/field-codes';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_ZONE } from '../domain/time-zones/hours';
import { isIanaZone } from '../domain/time-zones/wall-time';
import { MACHINE_BEHAVIOURS } from '../domain/voice/answer-detection/machine-behaviour';
import { release } from './campaign-release';
import { givenId, instantAsWritten, integer } from './common';
import { params } from './params';
import { finding, refused } from './validation-issue';
import { isWithinAYear } from './year-ahead';

/** What api.md 7 adds to a campaign on create. */
const CALLS_MAX = 100;
const DELAY_SECONDS_MAX = 30 * 24 * 3_600;

const seconds = integer.min(0).max(DELAY_SECONDS_MAX);
const attempts = integer.min(1).max(CALLS_MAX);
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'This must be a time as HH:MM');
const zoneOr = (...words: string[]) =>
  z
    .string()
    .min(1)
    .max(64)
    .refine(
      (name) => words.includes(name) || isIanaZone(name),
      refused(
        'invalid_timezone',
        ['This must be an IANA time zone such as Europe/Rome', ...words].join(', or '),
      ),
    );
const days = z.array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])).min(1);
const windowFields = {
  from: timeOfDay,
  to: timeOfDay,
  timezone: zoneOr(RECIPIENT_ZONE)
    .optional()
    .meta({ description: 'Whose clocks: a zone, or `recipient`, which is the default.' }),
  days: days.optional(),
};

/** Hours of a week, with what else belongs to them where they stand. */
export const weeklyWindow = <More extends z.ZodRawShape>(more: More) =>
  z.strictObject({ ...windowFields, ...more }).superRefine(
    (value, context) => {
      const { from, to } = value as { from?: unknown; to?: unknown };
      if (from === undefined || from !== to) return;
      context.addIssue(finding('empty_window', 'This is the same as from: hours begin and end', ['to']));
    },
    // Beside the other findings, not after them.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );
export const window = weeklyWindow({});

const schedule = z.strictObject({
  /**
   * Both are kept with the offset that was given, because it gives the hour that is meant when there is no timezone.
   */
  startAt: instantAsWritten
    .refine((value) => isWithinAYear(value), refused('too_far_ahead', 'At most one year ahead'))
    .optional(),
  endAt: instantAsWritten.optional().meta({
    description:
      'No occurrence of `cron` begins after it; without `cron`, no recipient is sent to after it, and those who are left are `expired`.',
  }),
  timezone: zoneOr().optional(),
  cron: z.string().min(1).max(200).optional().meta({
    description:
      'Again and again: minute, hour, day of the month, month, day of the week, by the clocks of `timezone` (UTC if left out), or with `recipientLocal` by each recipient’s own.',
  }),
  misfire: z.enum(['send', 'skip']).optional().meta({
    description:
      'What becomes of an hour at which nothing was running here: it is made up for late, once (`send`, the default), or left out.',
  }),
  recipientLocal: z.boolean().optional().meta({
    description:
      'Each recipient is due when their own clocks show what those of `timezone` show at `startAt`; with `cron`, when they show the hour of the occurrence. For recipients whose own zone is not known it is `timezone`.',
  }),
});

const retry = z
  .strictObject({
    maxAttempts: attempts.optional(),
    initialDelaySeconds: seconds.optional(),
    backoff: z.number().min(1).max(100).optional(),
    maxDelaySeconds: seconds.optional(),
  })
  .superRefine(
    (value, context) => {
      const { initialDelaySeconds: initial, maxDelaySeconds: max } = value;
      if (!(Number.isInteger(initial) && Number.isInteger(max) && Number(max) < Number(initial))) return;
      const message = 'The longest delay cannot be shorter than the first';
      context.addIssue(finding('too_small', message, ['maxDelaySeconds']));
    },
    // Beside the other findings, not after them.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

const TOO_SLOW =
  'This must be at least one recipient a day (1/86400); leave it out for no limit, and pause the campaign to send nothing';
const pace = z.number().min(LIMITS.paceMin, TOO_SLOW).max(LIMITS.paceMax);
const liveCalls = integer.min(1).max(LIMITS.liveCallsMax);

/** What of it may be changed while a campaign goes on; null takes it away. */
export const deliveryChange = z
  .strictObject({ ratePerSecond: pace.nullish(), maxConcurrentCalls: liveCalls.nullish() })
  .refine(
    (value) => Object.values(value).some((given) => given !== undefined),
    refused('empty', 'Nothing is to be changed'),
  );

const delivery = z.strictObject({
  ratePerSecond: pace.optional(),
  maxConcurrentCalls: liveCalls.optional(),
  quietHours: window.optional(),
  retry: retry.optional(),
  onUnknown: z.enum(['hold', 'resend']).optional(),
  expireAfterSeconds: integer.min(1).max(DELAY_SECONDS_MAX).optional(),
});

const redial = z
  .strictObject({
    maxAttempts: attempts,
    delaysSeconds: z.array(seconds).max(CALLS_MAX).default([]).meta({
      description: 'Before the second call, the third and so on; the last one holds for all that follow.',
    }),
    jitter: z.number().min(0).max(1).optional().meta({
      description: 'A delay may be longer by up to this share of it, so that they do not all come at once.',
    }),
  })
  .optional();

const voice = z.strictObject({
  retry: z.strictObject({ busy: redial, no_answer: redial, machine: redial, failed: redial }).optional(),
  maxAttempts: attempts.optional(),
  machine: z.enum(MACHINE_BEHAVIOURS).optional().meta({
    description:
      'What an answering machine is worth: it is spoken to like a person (`speak`, the default), hung up on, or left a message after its greeting.',
  }),
  ringTimeoutSeconds: integer.min(5).max(600).optional(),
  callWindow: window.optional(),
});

export const additions = {
  start: z.boolean().optional(),
  params: params.optional(),
  class: z.enum(['marketing', 'transactional']).optional(),
  schedule: schedule.optional(),
  delivery: delivery.optional(),
  voice: voice.optional(),
  strategy: z.enum(['broadcast', 'fallback']).optional().meta({
    description:
      '`fallback`: channels in the order of `channel`, the next only when the one before had no success.',
  }),
  fallbackAfterSeconds: seconds.optional().meta({
    description: `How long a message may be silent before the next channel; ${LIMITS.fallbackAfterSecondsDefault} if left out.`,
  }),
  exclude: z
    .strictObject({
      campaignIds: z.array(givenId).max(100).optional(),
      suppressionOnly: z.boolean().optional().meta({
        description:
          'Of these campaigns, leave out only contacts who had opted out, also from another sender, and not all contacts that they reached.',
      }),
    })
    .optional(),
  abort: z
    .strictObject({ failureRate: z.number().gt(0).max(1), minSample: integer.min(1).optional() })
    .optional(),
  release: release.optional(),
};

/** A fallback needs something to fall back to. */
export function checkStrategy(value: unknown, context: z.RefinementCtx): void {
  const { strategy, channel, fallbackAfterSeconds } = value as Record<string, unknown>;
  const refuse = (path: string, code: FieldCode, message: string) =>
    context.addIssue(finding(code, message, [path]));
  if (strategy === 'fallback' && Array.isArray(channel) && channel.length < 2) {
    refuse('strategy', 'too_few_channels', 'A fallback needs at least two channels');
  }
  if (fallbackAfterSeconds !== undefined && strategy !== 'fallback') {
    refuse('fallbackAfterSeconds', 'not_applicable', 'This belongs to the strategy fallback');
  }
}
