import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { isOfCalendar } from '../domain/instants';
import { LIMITS } from '../domain/limits';
import { POLICY_PRESETS, type WorkspacePolicy } from '../domain/policy';
import { RECIPIENT_STATES, SKIP_REASONS } from '../domain/recipient';
import { SUPPRESSION_LIFTERS } from '../domain/suppression';
import { senderOf } from './addresses';
import { weeklyWindow } from './campaign-additions';
import { cursorQuery, emptyAsAbsent, INT_MAX, integer, pageLimit } from './common';
import { channel, count, cursorPageOf, id, success, time } from './envelope';
import { finding, refused } from './validation-issue';

/** What `PUT /api/policy` takes. It replaces the whole, so that what is left out is off. All of it is strict. */

const channels = z
  .array(z.enum(CHANNELS))
  .min(1)
  .max(CHANNELS.length)
  .refine(isSet, refused('repeated', 'A channel stands here twice'));
const DOMAIN = /^@(?=.{4,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/i;
// The added text has no placeholders, because it is the same for every recipient.
const optOutText = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.optOutTextChars)
  .refine((text) => !/[\r\n]/.test(text), refused('line_break', 'This is one line'))
  .refine((text) => !text.includes('{{'), refused('not_applicable', 'Nothing is filled in here'));

const senders = (channel: Channel) =>
  z
    .array(
      z.string().transform((value, context) => {
        if (channel === 'email' && DOMAIN.test(value)) return value.toLowerCase();
        const sender = senderOf[channel].safeParse(value);
        if (sender.success) return sender.data;
        context.addIssue(finding('invalid_sender', `This is not a sender of ${channel}`));
        return z.NEVER;
      }),
    )
    .min(1)
    .max(LIMITS.allowedSenders)
    .nullish();

const policy = {
  quietHours: weeklyWindow({
    channels: channels.default(['sms', 'voice']),
    classes: z
      .array(z.enum(['marketing', 'transactional']))
      .min(1)
      .max(2)
      .default(['marketing']),
  }).nullish(),
  caps: z
    .array(
      z.strictObject({
        channels: channels.default([...CHANNELS]).meta({ description: 'Counted together; all if left out.' }),
        classes: z.array(z.literal('marketing')).min(1).max(1).optional(),
        max: integer.min(1).max(LIMITS.capMessages),
        days: integer.min(1).max(LIMITS.capDays).meta({ description: 'The last so many times 24 hours.' }),
      }),
    )
    .max(LIMITS.policyCaps)
    .nullish(),
  allowedSenders: z
    .strictObject({ email: senders('email'), sms: senders('sms'), voice: senders('voice') })
    .nullish(),
  smsOptOutText: z
    .union(
      [
        optOutText.transform((text) => ({ text, onlyFirst: true })),
        z.strictObject({ text: optOutText, onlyFirst: z.boolean().default(true) }),
      ],
      'This must be a text, or an object with text and onlyFirst',
    )
    .nullish(),
  approval: z
    .strictObject({
      above: integer
        .min(0)
        .max(INT_MAX)
        .meta({ description: 'Campaigns with more contacts need an approval.' }),
      channels: channels.default([...CHANNELS]).meta({ description: 'With any of these; all if left out.' }),
    })
    .nullish(),
};

export const policyBody = z
  .strictObject({
    preset: z
      .enum(Object.keys(POLICY_PRESETS) as [keyof typeof POLICY_PRESETS])
      .optional()
      .meta({ description: 'A whole policy in one word, and so instead of everything else.' }),
    ...policy,
    version: z.unknown().optional().meta({ description: 'As it was answered; it says nothing here.' }),
    updatedAt: z.unknown().optional().meta({ description: 'As it was answered; it says nothing here.' }),
  })
  .superRefine(
    (value, context) => {
      if (value.preset === undefined) return;
      for (const path of Object.keys(policy)) {
        if (!(path in value)) continue;
        const message = 'The preset says it all; set what it sets, to change some of it';
        context.addIssue(finding('not_applicable', message, [path]));
      }
    },
    // Beside the other findings, not after them.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

export function policyOf(body: z.output<typeof policyBody>): WorkspacePolicy {
  if (body.preset) return structuredClone(POLICY_PRESETS[body.preset]) as unknown as WorkspacePolicy;
  const { quietHours, caps, allowedSenders, smsOptOutText, approval } = body;
  const lists = Object.entries(allowedSenders ?? {}).filter(([, list]) => list);
  return {
    quietHours: quietHours ?? null,
    caps: caps?.length ? caps.map(({ channels: of, max, days }) => ({ channels: of, max, days })) : null,
    allowedSenders: lists.length ? Object.fromEntries(lists) : null,
    smsOptOutText: smsOptOutText ?? null,
    approval: approval ?? null,
  };
}

function isSet(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

export const timelineQuery = z.object({
  cursor: cursorQuery.cursor,
  limit: emptyAsAbsent(pageLimit(LIMITS.timelinePageMax).default(LIMITS.pageSizeMax)),
});

export const timelinePosition = z.strictObject({
  at: z.iso
    .datetime()
    .refine((at) => isOfCalendar(Date.parse(at)), refused('invalid_time', 'There is no such time')),
  key: z.string().max(LIMITS.uidChars * 2),
});

/** What the policy's endpoints answer (api.md 7). */
const storedPolicy = z
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

export const policyAnswer = success(storedPolicy);

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
      values: z
        .record(z.string(), z.unknown())
        .optional()
        .meta({ description: 'In an export only: what was filled in for the person.' }),
    }),
    z.strictObject({ kind: z.literal('skipped'), ...ofRun, reason: z.enum(SKIP_REASONS) }),
    z.strictObject({
      ...{ kind: z.literal('send'), at: time, sendId: id, uid: z.string(), channel, state, code },
      values: z
        .record(z.string(), z.unknown())
        .optional()
        .meta({ description: 'In an export only: what was to be sent.' }),
    }),
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
