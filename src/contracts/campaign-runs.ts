import { z } from 'zod';
import { PHASES } from '../domain/campaign';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, RETRIABLE, SKIP_REASONS } from '../domain/recipient';
import { GATE_METRICS } from '../domain/release';
import { cursorQuery, emptyAsAbsent, givenId, INT_MAX } from './common';
import { count, cursorPageOf, id, perChannel, recipientsDeletedAt, tally, time } from './envelope';
import { stopped } from './stop';
import { finding } from './validation-issue';

export const ofRun = {
  runId: emptyAsAbsent(
    givenId.optional().meta({ description: 'Of this run of the campaign; without it, of the current one.' }),
  ),
};

/** The run that the query is about. */
export const runChoice = z.object(ofRun);

export const runQuery = z.object(cursorQuery);

/** Where a listing of runs stopped. */
export const runPosition = z.object({ number: z.int().min(1).max(INT_MAX) });

export const retryFailedBody = z
  .strictObject({
    states: z
      .array(z.enum(RETRIABLE))
      .min(1)
      .transform((states) => [...new Set(states)])
      .optional()
      .meta({ description: 'Without it failed, undelivered and unknown; `rejected` needs `codes`.' }),
    codes: z
      .array(z.string().min(1).max(LIMITS.searchChars))
      .min(1)
      .max(LIMITS.retriedCodes)
      .optional()
      .meta({ description: 'Only recipients with one of these codes.' }),
  })
  .superRefine(({ states, codes }, context) => {
    if (!states?.includes('rejected') || codes) return;
    const message = 'Name the codes of the refusals that are worth another try';
    context.addIssue(finding('required', message, ['codes']));
  })
  .optional();

/** Told by a run that paused or canceled itself; why another one failed is a sentence. */
export const reason = z
  .union([
    z.string(),
    z.strictObject({
      code: z.literal('approval_required'),
      contacts: count,
      allowed: count.meta({ description: 'To so many the campaign may be sent without another approval.' }),
    }),
    z.strictObject({
      code: z.literal('gate'),
      metric: z.enum(GATE_METRICS),
      value: z.number().min(0),
      above: z.number().min(0).max(1),
      sample: count,
    }),
  ])
  .nullable();
export const localTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  .nullable();

export const runs = cursorPageOf(
  z
    .strictObject({
      id,
      number: z.int().min(1),
      phase: z.enum(PHASES),
      scheduledFor: time
        .nullable()
        .meta({ description: 'The occurrence that it is; null when a person or a client started it.' }),
      localTime: localTime.meta({
        description: 'With `recipientLocal`: what recipients’ own clocks show when they are due.',
      }),
      startedAt: time.nullable(),
      finishedAt: time.nullable(),
      recipientsDeletedAt,
      reason,
      counts: perChannel(tally(['total', ...RECIPIENT_STATES])),
      skipped: perChannel(tally(SKIP_REASONS)),
      workflowId: z.string(),
    })
    .meta({ id: 'Run' }),
).extend({ stopped });
