import { z } from 'zod';
import { PHASES, type Status } from '../domain/campaign';
import { CHANNELS } from '../domain/channel';
import type { FieldCode } from '../domain/field-codes';
import { isOfCalendar } from '../domain/instants';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, SKIP_REASONS } from '../domain/recipient';
import { senderOf } from './addresses';
import { additions, checkStrategy, deliveryChange } from './campaign-additions';
import { releaseView } from './campaign-release';
import { localTime, reason } from './campaign-runs';
import { checkHours, checkSchedule } from './campaign-schedule';
import {
  displayName,
  emptyAsAbsent,
  givenId,
  INT_MAX,
  integer,
  pageLimit,
  pageNumber,
  queriedInstant,
  searchTerm,
} from './common';
import {
  channel,
  count,
  id,
  pageOf,
  perChannel,
  recipientsDeletedAt,
  success,
  tally,
  time,
} from './envelope';
import { warnings } from './problem';
import { stopped } from './stop';
import { finding, refused } from './validation-issue';

/**
 * messaging-service.md, Create campaign and List campaigns; api.md 7. The specification's objects ignore
 * what they do not know, since a client may be newer than we are; our additions refuse it.
 */
const version = integer.min(1).max(INT_MAX);

const settings = z.object({
  email: z.object({ fromEmail: senderOf.email, templateId: givenId, version }).optional(),
  sms: z.object({ shortCode: senderOf.sms, templateId: givenId, version }).optional(),
  voice: z.object({ callerId: senderOf.voice, templateId: givenId, version }).optional(),
});

const campaignName = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.campaignNameChars)
  .regex(/^[^\r\n]*$/, 'A name is one line');

export const campaignBody = z
  .object({
    campaignId: givenId.nullish(),
    name: campaignName,
    settings,
    channel: z.array(z.enum(CHANNELS)).min(1),
    contactListId: z.array(givenId).max(LIMITS.campaignLists).optional(),
    // The envelope alone, because each row is checked by itself (campaigns/contacts/inline-recipients.ts).
    recipients: z.array(z.unknown()).min(1).max(LIMITS.contactsPerRequest).optional(),
    skipInvalid: z
      .boolean()
      .optional()
      .meta({ description: 'Leaves rows of `recipients` out that are wrong, and names them in `rejected`.' }),
    ...additions,
  })
  // `when`: fields that belong together are checked beside the others, so that all errors come at once.
  .superRefine(
    (value, context) => {
      checkChannels(value, context);
      checkAudience(value, context);
      checkStrategy(value, context);
      checkSchedule(value, context);
      checkHours(value, context);
    },
    { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
  );

export type CampaignBody = z.output<typeof campaignBody>;

/** An edit may rely on the recipients that its campaign has; whether there are any is checked when it starts. */
function checkAudience(
  { campaignId, contactListId, recipients, start }: Record<string, unknown>,
  context: z.RefinementCtx,
): void {
  const isEmpty = Array.isArray(contactListId) && contactListId.length === 0;
  if (!isEmpty && contactListId !== undefined) return;
  if (recipients !== undefined || start === false || (campaignId ?? null) !== null) return;
  const code = isEmpty ? 'too_small' : 'required';
  const message = 'Name a contact list, give recipients, or create a draft with start: false';
  context.addIssue(finding(code, message, ['contactListId']));
}

function checkChannels(value: { channel?: unknown; settings?: unknown }, context: z.RefinementCtx): void {
  if (!Array.isArray(value.channel)) return;
  const listed: unknown[] = value.channel;
  const refuse = (path: (string | number)[], code: FieldCode, message: string) =>
    context.addIssue(finding(code, message, path));

  const seen = new Set<unknown>();
  for (const [i, channel] of listed.entries()) {
    if (seen.has(channel)) refuse(['channel', i], 'repeated', 'This channel is listed twice');
    seen.add(channel);
  }
  if (typeof value.settings !== 'object' || value.settings === null) return;
  for (const channel of CHANNELS) {
    const given = (value.settings as Record<string, unknown>)[channel] !== undefined;
    if (listed.includes(channel) && !given) {
      refuse(['settings', channel], 'required', 'A listed channel needs its settings');
    } else if (given && !listed.includes(channel)) {
      refuse(['settings', channel], 'not_listed', 'These settings are of a channel that is not listed');
    }
  }
}

const STATUSES = ['active', 'paused', 'completed'] as const satisfies readonly Status[];
const CAMPAIGN_COLUMNS = ['name', 'createdAt', 'status'] as const;

/** `MM/DD/YYYY`, a day that exists, as `YYYY-MM-DD`. */
const day = z
  .string()
  .regex(/^\d{2}\/\d{2}\/\d{4}$/, 'This must be a date as MM/DD/YYYY')
  .transform((value) => `${value.slice(6)}-${value.slice(0, 2)}-${value.slice(3, 5)}`)
  .refine((value) => exists(value), refused('invalid_date', 'There is no such day'));

function exists(isoDay: string): boolean {
  const time = Date.parse(`${isoDay}T00:00:00Z`);
  // Some engines roll February 30 over into March.
  return isOfCalendar(time) && new Date(time).toISOString().startsWith(isoDay);
}

export const campaignListQuery = z
  .object({
    page: emptyAsAbsent(pageNumber),
    limit: emptyAsAbsent(pageLimit()),
    channel: emptyAsAbsent(
      z.enum([...CHANNELS, 'all']).meta({ description: 'Campaigns that use this channel; `all` for any.' }),
    ),
    search: emptyAsAbsent(searchTerm.optional()),
    direction: emptyAsAbsent(z.enum(['asc', 'desc']).optional()),
    column: emptyAsAbsent(z.enum(CAMPAIGN_COLUMNS).optional()),
    status: emptyAsAbsent(z.enum(STATUSES).optional()),
    dateFrom: emptyAsAbsent(day.optional()),
    dateTo: emptyAsAbsent(day.optional()),
    createdFrom: queriedInstant.meta({
      description: 'For days of another zone than UTC: an instant, included.',
    }),
    createdBefore: queriedInstant.meta({ description: 'An instant, not included.' }),
    tag: emptyAsAbsent(z.string().trim().max(LIMITS.tagChars).optional()),
    archived: emptyAsAbsent(
      z
        .enum(['true', 'false'])
        .transform((value) => value === 'true')
        .default(false)
        .meta({ description: 'Those that were put away; without it, those that were not.' }),
    ),
  })
  .refine(({ dateFrom, dateTo }) => !dateFrom || !dateTo || dateFrom <= dateTo, {
    path: ['dateTo'],
    ...refused('before_start', 'This is before dateFrom'),
    when: ({ value }) => isDay((value as Days).dateFrom) && isDay((value as Days).dateTo),
  });

export type CampaignListQuery = z.output<typeof campaignListQuery>;

interface Days {
  dateFrom?: unknown;
  dateTo?: unknown;
}
const isDay = (value: unknown) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value);

/** Pause, resume, cancel and start say everything in their path. */
export const emptyBody = z.strictObject({}).optional();

/** `PATCH` of a campaign: what may change while it goes on. */
export const campaignChange = z
  .strictObject({
    name: campaignName.optional(),
    tags: z
      .array(displayName.max(LIMITS.tagChars))
      .max(LIMITS.campaignTags)
      .transform((tags) => [...new Set(tags)])
      .optional(),
    archived: z.boolean().optional(),
    delivery: deliveryChange.optional(),
  })
  .refine(
    (value) => Object.values(value).some((given) => given !== undefined),
    refused('empty', 'Nothing is to be changed'),
  );

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
  tags: z.array(z.string()),
  archived: z.boolean().meta({ description: 'It was put away, and lists leave it out.' }),
};

const summary = z.strictObject(summaryMembers).meta({ id: 'Campaign' });

export const changedCampaign = success(summary);
/** Rows of `recipients` that `skipInvalid` left out. */
export const rejected = z
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
      count: count.meta({ description: 'Recipients that are sent to again; 0 when none matches.' }),
      retried: z.partialRecord(channel, count).meta({ description: 'The same by channel.' }),
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

const template = { templateId: id, version: z.int().min(1) };
const storedSettings = z.strictObject({
  email: z.strictObject({ fromEmail: z.string(), ...template }).optional(),
  sms: z.strictObject({ shortCode: z.string(), ...template }).optional(),
  voice: z.strictObject({ callerId: z.string(), ...template }).optional(),
});

const { start: _, schedule, release: __, ...kept } = additions;
export const instants = { startAt: time.optional(), endAt: time.optional() };

export const campaignDetail = success(
  z
    .strictObject({
      ...summaryMembers,
      updatedAt: time,
      createdBy: z.string().nullable(),
      approval: z.strictObject({ by: z.string(), at: time, contacts: count }).nullable().meta({
        description: 'Who approved it, for how many contacts; null without one, and after a change.',
      }),
      settings: storedSettings,
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
