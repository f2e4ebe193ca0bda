import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { STEPS } from '../domain/explanation';
import { LIMITS } from '../domain/limits';
import { SKIP_REASONS } from '../domain/recipient';
import { WAIT_WHYS } from '../domain/wait-reasons';
import { lookedForAddress, recipientOf } from './addresses';
import { recipient } from './campaign-recipients';
import { runChoice } from './campaign-runs';
import { cursorQuery, emptyAsAbsent, givenId } from './common';
import { channel, cursorPageOf, id, success, time } from './envelope';
import { finding, refused } from './validation-issue';

/** Queries of the endpoints that explain (api.md 19). */
export const recipientKey = z.object({ id: givenId, recipientId: givenId });

export const explainQuery = z
  .object({
    campaign: givenId,
    contact: emptyAsAbsent(
      givenId.optional().meta({ description: 'The contact’s id. Either this or `to`.' }),
    ),
    to: emptyAsAbsent(
      z
        .string()
        .max(LIMITS.searchChars)
        .transform(lookedForAddress)
        // The answer may be that a campaign does not have this person, which half a number cannot show.
        .refine(
          (address) => address.includes('@') || recipientOf.sms.safeParse(address).success,
          refused('invalid_address', 'This must be an email address, or a phone number such as +14155550123'),
        )
        .optional()
        .meta({ type: 'string', description: 'An email address or a phone number of the person.' }),
    ),
    channel: emptyAsAbsent(
      z.enum(CHANNELS).optional().meta({ description: 'Without it, the one that was last acted on.' }),
    ),
    runId: emptyAsAbsent(
      givenId
        .optional()
        .meta({ description: 'A run of the campaign; without it, the newest one with the person.' }),
    ),
  })
  .superRefine(
    ({ contact, to }, context) => {
      if (contact === undefined && to === undefined) {
        context.addIssue(finding('required', 'The person is named by contact or by to', ['to']));
      } else if (contact !== undefined && to !== undefined) {
        context.addIssue(finding('not_applicable', 'Contact names the person already', ['to']));
      }
    },
    // Beside the other findings, not after them.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

const skippedFilter = {
  ...runChoice.shape,
  channel: emptyAsAbsent(z.enum(CHANNELS).optional()),
  reason: emptyAsAbsent(z.enum(SKIP_REASONS).optional()),
};

export const skippedQuery = z.object({ ...cursorQuery, ...skippedFilter });

/** An export is read whole. */
export const skippedExportQuery = z.object(skippedFilter);

/** Where a listing of contacts that were left out stopped, as its cursor holds it. */
export const skippedPosition = z.object({
  channel: z.enum(CHANNELS),
  reason: z.enum(SKIP_REASONS),
  contactId: givenId,
});

/** What the endpoints that explain answer (api.md 19). */
const reason = z.enum(SKIP_REASONS);
const evidence = z.string().meta({ description: 'A sentence that can be read out.' });

const explanation = z.strictObject({
  recipient: recipient.nullable(),
  skipped: z
    .strictObject({ channel, reason, evidence })
    .optional()
    .meta({ description: 'Set where the contact did not become a recipient.' }),
  summary: z.string().meta({ description: 'Sentences that can be read out.' }),
  next: z
    .strictObject({
      at: time
        .optional()
        .meta({ description: 'When the recipient goes on; left out where that is not known.' }),
      why: z.enum(WAIT_WHYS),
      detail: z.string(),
    })
    .nullable()
    .meta({ description: 'Null when nothing is next.' }),
  steps: z
    .array(
      z.strictObject({
        at: time,
        what: z.enum(STEPS),
        code: z.string().optional(),
        detail: z.string(),
        data: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .meta({ description: 'Oldest first.' }),
});

export const recipientExplanation = success(explanation.meta({ id: 'Explanation' }));

export const personExplanation = success(
  explanation
    .extend({
      others: z
        .array(id)
        .max(LIMITS.explainedOthers)
        .meta({ description: 'The person’s other recipients in the campaign, newest run first.' }),
    })
    .meta({ id: 'PersonExplanation' }),
);

export const skippedContacts = cursorPageOf(
  z
    .strictObject({
      contactId: id,
      channel,
      address: z.string().nullable().meta({
        description: 'The one that was judged; null without one, and for runs of earlier releases.',
      }),
      reason,
      evidence,
    })
    .meta({ id: 'SkippedContact' }),
);
