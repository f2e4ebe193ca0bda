import { z } from 'zod';
import { PHASES } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import { RECIPIENT_STATES, SKIP_REASONS } from '../../domain/recipient';
import { GATE_METRICS } from '../../domain/release';
import { additions } from '../campaign-additions';
import { releaseFields } from '../campaign-release';
import { call } from './calls';
import { channel, count, cursorPageOf, id, pageOf, success, time } from './envelope';
import { warnings } from './problem';
import { stopped } from './stop';

/** What the campaign endpoints answer (messaging-service.md, List campaigns; api.md 7). */
const summaryMembers = {
  id,
  name: z.string(),
  channel: z.array(channel),
  status: z.enum(['active', 'paused', 'completed']),
  phase: z
    .enum(PHASES)
    .meta({ description: 'Finer than status, which has the specification’s three words.' }),
  createdAt: time,
};

/** Told by a run that paused or canceled itself; why another one failed is a sentence. */
const reason = z
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

const releaseView = z
  .strictObject({
    ...releaseFields,
    stage: z.int().min(0).meta({ description: 'The stage that has begun last; 0 before the first.' }),
    of: z.int().min(2).meta({ description: 'How many there are, the last one with the rest included.' }),
    next: z
      .union([time, z.literal('manual')])
      .nullable()
      .meta({
        description:
          'When the next stage begins; `manual` when it waits for `POST …/release`; null while a stage is being sent, at a closed gate and after the last.',
      }),
    judged: z
      .array(
        z.strictObject({
          stage: z.int().min(1),
          at: time,
          metric: z.enum(GATE_METRICS),
          value: z.number().min(0),
          sample: count,
          passed: z.boolean(),
        }),
      )
      .meta({ description: 'What the gates came to, in order.' }),
  })
  .meta({ id: 'Release' });

const summary = z.strictObject(summaryMembers).meta({ id: 'Campaign' });

export const changedCampaign = success(summary);
/** Rows of `recipients` that `skipInvalid` left out. */
const rejected = z
  .array(z.strictObject({ index: count, field: z.string(), code: z.string(), message: z.string() }))
  .max(LIMITS.contactsPerRequest)
  .optional()
  .meta({
    description:
      'With `skipInvalid`: the rows that were left out, counted from 0; `field` is empty for a row as a whole.',
  });

export const savedCampaign = success(
  z
    .strictObject({
      ...summaryMembers,
      rejected,
      warnings: warnings.meta({ description: 'What is possible and perhaps not meant; it changes nothing.' }),
    })
    .meta({ id: 'SavedCampaign' }),
);
export const retriedCampaign = success(
  z
    .strictObject({
      ...summaryMembers,
      retried: z.partialRecord(channel, count).meta({ description: 'Recipients that are sent to again.' }),
    })
    .meta({ id: 'RetriedCampaign' }),
);
export const changedDelivery = success(
  z
    .strictObject({ ...summaryMembers, delivery: additions.delivery.unwrap() })
    .meta({ id: 'ChangedDelivery' }),
);
export const releasedCampaign = success(
  z.strictObject({ ...summaryMembers, release: releaseView }).meta({ id: 'ReleasedCampaign' }),
);
export const campaignList = pageOf(summary).extend({ stopped });

const perChannel = <Value extends z.ZodType>(value: Value) => z.partialRecord(channel, value);
const tally = <Name extends string>(names: readonly Name[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>);

const template = { templateId: id, version: z.int().min(1) };
const settings = z.strictObject({
  email: z.strictObject({ fromEmail: z.string(), ...template }).optional(),
  sms: z.strictObject({ shortCode: z.string(), ...template }).optional(),
  voice: z.strictObject({ callerId: z.string(), ...template }).optional(),
});

const { start: _, schedule, release: __, ...kept } = additions;
const localTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  .nullable();
const instants = { startAt: time.optional(), endAt: time.optional() };

const recipientsDeletedAt = time.nullable().meta({
  description:
    'When its recipients were deleted, because it ended longer ago than records are kept. Its counts and outcomes stay.',
});

export const campaignDetail = success(
  z
    .strictObject({
      ...summaryMembers,
      updatedAt: time,
      createdBy: z.string().nullable(),
      approval: z.strictObject({ by: z.string(), at: time, contacts: count }).nullable().meta({
        description: 'Who approved it, for how many contacts; null without one, and after a change.',
      }),
      settings,
      contactListId: z.array(id),
      inline: count.meta({ description: 'Contacts of the campaign’s own audience.' }),
      ...kept,
      schedule: schedule.unwrap().extend(instants).optional(),
      release: releaseView.optional(),
      counts: perChannel(tally(['total', ...RECIPIENT_STATES])).meta({
        description: 'Every state is there, and they sum to total.',
      }),
      skipped: perChannel(tally(SKIP_REASONS)).meta({
        description: 'Contacts that did not become recipients, and why.',
      }),
      ratePerSecond: z.number().min(0).meta({
        description: 'Recipients taken on a second, of late; 0 while it stands still.',
      }),
      eta: time.nullable().meta({ description: 'When all have been taken on, if it goes on so.' }),
      runId: id.nullable(),
      workflowId: z.string().nullable().meta({ description: 'Of Temporal.' }),
      startedAt: time.nullable(),
      finishedAt: time.nullable(),
      recipientsDeletedAt,
      nextRunAt: time.nullable().meta({
        description: 'Of a recurring campaign: when its next occurrence begins; null while it is paused.',
      }),
      nextLocalTime: localTime.meta({
        description:
          'With `recipientLocal`: what recipients’ own clocks show when the next occurrence reaches them.',
      }),
      reason: reason.meta({
        description:
          'Why it failed, if it did; with `gate`, which gate of its release paused or canceled it; with `approval_required`, that it waits for `POST …/approve`.',
      }),
      stopped,
    })
    .meta({ id: 'CampaignDetail' }),
);

export const runs = cursorPageOf(
  z
    .strictObject({
      id,
      number: z.int().min(1),
      phase: z.enum(PHASES),
      scheduledFor: time
        .nullable()
        .meta({ description: 'The occurrence that it is; null when somebody started it.' }),
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

const forecast = z
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

export const campaignDigest = success(
  z
    .strictObject({
      digest: z
        .string()
        .meta({ description: 'Of what is sent, how and to whom; `POST …/approve` takes it.' }),
      contacts: count.meta({ description: 'Of the lists and the own audience, each once.' }),
      recipients: count.meta({ description: 'On all channels together, as a dry run counts them.' }),
      channels: perChannel(forecast),
      templates: z.array(
        z.strictObject({ channel, templateId: id, version: z.int().min(1), name: z.string() }),
      ),
      schedule: schedule.unwrap().extend(instants).nullable(),
      estimate: z.strictObject({
        durationSeconds: count.nullable().meta({ description: 'As a dry run’s.' }),
        warnings,
      }),
    })
    .meta({ id: 'CampaignDigest' }),
);

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

export const recipient = z
  .strictObject({
    id,
    contactId: id,
    channel,
    address: z.string(),
    state: z.enum(RECIPIENT_STATES),
    outcome: z.string().nullable(),
    code: z.string().nullable(),
    attempts: count,
    uid: z.string().meta({ description: 'Of the message, at the service that it is sent through.' }),
    dueAt: time.nullable(),
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
