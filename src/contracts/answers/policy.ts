import { z } from 'zod';
import { CHANNELS } from '../../domain/channel';
import { RECIPIENT_STATES, SKIP_REASONS } from '../../domain/recipient';
import { SUPPRESSION_LIFTERS } from '../../domain/suppression';
import { channel, count, cursorPageOf, id, success, time } from './envelope';

/** What the policy's endpoints answer (api.md 7). */
const policy = z
  .strictObject({
    quietHours: z
      .strictObject({
        from: z.string(),
        to: z.string(),
        timezone: z.string().optional(),
        days: z.array(z.string()).optional(),
        channels: z.array(channel),
        classes: z.array(z.enum(['marketing', 'transactional'])),
      })
      .nullable(),
    caps: z.array(z.strictObject({ channels: z.array(channel), max: count, days: count })).nullable(),
    allowedSenders: z.partialRecord(z.enum(CHANNELS), z.array(z.string())).nullable(),
    smsOptOutText: z.strictObject({ text: z.string(), onlyFirst: z.boolean() }).nullable(),
    approval: z.strictObject({ above: count, channels: z.array(channel) }).nullable(),
    version: count.meta({ description: 'Grows by one with every change; 0 when none was ever set.' }),
    updatedAt: time.nullable(),
  })
  .meta({ id: 'Policy' });

export const policyAnswer = success(policy);

const state = z.enum(RECIPIENT_STATES);
const code = z.string().nullable();
const ofRun = {
  at: time,
  runId: id,
  campaignId: id,
  campaign: z.string(),
  channel,
  runStartedAt: time,
  policyVersion: count.meta({ description: 'Of the policy in force then; 0 without one.' }),
};

const block = {
  at: time,
  channel: z.string(),
  address: z.string(),
  sender: z.string().meta({ description: 'Empty for every sender.' }),
  reason: z.string(),
  source: z.string(),
  since: time,
};

export const timelineEntry = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('recipient'),
      ...ofRun,
      address: z.string().nullable(),
      state,
      outcome: z.string().nullable(),
      code,
      attempts: count,
      dueAt: time,
      retryAt: time.nullable(),
      messages: z
        .array(
          z.strictObject({
            uid: z.string(),
            state: z.string(),
            code,
            events: z.array(
              z.strictObject({
                at: time,
                type: z.string(),
                state: z.string(),
                code: z.string().optional(),
              }),
            ),
          }),
        )
        .meta({ description: 'At the messaging service, the latest of them.' }),
    }),
    z.strictObject({ kind: z.literal('skipped'), ...ofRun, reason: z.enum(SKIP_REASONS) }),
    z.strictObject({ kind: z.literal('send'), at: time, sendId: id, uid: z.string(), channel, state, code }),
    z.strictObject({
      kind: z.literal('cap_place'),
      at: time,
      channel,
      address: z.string(),
      uid: z.string().meta({ description: 'The message that counts.' }),
    }),
    z.strictObject({ kind: z.literal('suppression'), ...block }),
    z.strictObject({
      kind: z.literal('suppression_lifted'),
      ...block,
      liftedBy: z.enum(SUPPRESSION_LIFTERS).meta({
        description: 'A call of the API, START, or the page that unsubscribes.',
      }),
    }),
  ])
  .meta({ id: 'TimelineEntry' });

export const timeline = cursorPageOf(timelineEntry);
