import { z } from 'zod';
import type { Status } from '../domain/campaign';
import { CHANNELS } from '../domain/channel';
import type { FieldCode } from '../domain/field-codes';
import { isOfCalendar } from '../domain/instants';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, RETRIABLE } from '../domain/recipient';
import { senderOf } from './addresses';
import { additions, checkStrategy, deliveryChange } from './campaign-additions';
import { checkHours } from './campaign-hours';
import { checkSchedule } from './campaign-schedule';
import {
  cursorQuery,
  displayName,
  emptyAsAbsent,
  INT_MAX,
  id,
  integer,
  pageLimit,
  pageNumber,
  searchTerm,
} from './common';
import { finding, refused } from './finding';

/**
 * messaging-service.md, Create campaign and List campaigns; api.md 7. The specification's objects ignore
 * what they do not know, since a client may be newer than we are; our additions refuse it.
 */
const version = integer.min(1).max(INT_MAX);

const settings = z.object({
  email: z.object({ fromEmail: senderOf.email, templateId: id, version }).optional(),
  sms: z.object({ shortCode: senderOf.sms, templateId: id, version }).optional(),
  voice: z.object({ callerId: senderOf.voice, templateId: id, version }).optional(),
});

const campaignName = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.campaignNameChars)
  .regex(/^[^\r\n]*$/, 'A name is one line');

export const campaignBody = z
  .object({
    campaignId: id.nullish(),
    name: campaignName,
    settings,
    channel: z.array(z.enum(CHANNELS)).min(1),
    contactListId: z
      .array(id)
      .max(LIMITS.campaignLists)
      .transform((ids) => [...new Set(ids)])
      .optional(),
    // The envelope alone: each row is judged by itself (campaigns/contacts/inline-recipients.ts).
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
    { when: ({ value }) => typeof value === 'object' && value !== null },
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

  for (const [i, channel] of listed.entries()) {
    if (listed.indexOf(channel) < i) refuse(['channel', i], 'repeated', 'This channel is listed twice');
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
    channel: emptyAsAbsent(z.enum(CHANNELS)),
    search: emptyAsAbsent(searchTerm.optional()),
    direction: emptyAsAbsent(z.enum(['asc', 'desc']).optional()),
    column: emptyAsAbsent(z.enum(CAMPAIGN_COLUMNS).optional()),
    status: emptyAsAbsent(z.enum(STATUSES).optional()),
    dateFrom: emptyAsAbsent(day.optional()),
    dateTo: emptyAsAbsent(day.optional()),
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

const ofRun = {
  runId: emptyAsAbsent(
    id.optional().meta({ description: 'Of this run of the campaign; without it, of the current one.' }),
  ),
};

/** Which run is asked about. */
export const runChoice = z.object(ofRun);

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

export const runQuery = z.object(cursorQuery);

/** Where a listing of runs stopped. */
export const runPosition = z.object({ number: z.int().min(1).max(INT_MAX) });

/** An export is read whole. */
export const recipientExportQuery = z.object(recipientFilter);

/** Where a listing of recipients stopped, as its cursor holds it. */
export const recipientPosition = z.object({ channel: z.enum(CHANNELS), seq: z.int().min(0).max(INT_MAX) });

/** Pause, resume, cancel and start say everything in their path. */
export const emptyBody = z.strictObject({}).optional();

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

/** A tag is compared as it is written, without the spaces around it. */
const tag = displayName.max(LIMITS.tagChars);

/** `PATCH` of a campaign: what may change while it goes on. */
export const campaignChange = z
  .strictObject({
    name: campaignName.optional(),
    tags: z
      .array(tag)
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
