import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { SKIP_REASONS } from '../domain/recipient';
import { lookedForAddress } from './addresses';
import { runChoice } from './campaigns';
import { cursorQuery, emptyAsAbsent, id } from './common';
import { finding } from './finding';

/** What the endpoints that explain are asked (api.md 19). */
export const recipientKey = z.object({ id, recipientId: id });

export const explainQuery = z
  .object({
    campaign: id,
    contact: emptyAsAbsent(id.optional().meta({ description: 'The contact’s id. Either this or `to`.' })),
    to: emptyAsAbsent(
      z
        .string()
        .max(LIMITS.searchChars)
        .transform(lookedForAddress)
        .optional()
        .meta({ type: 'string', description: 'An email address or a phone number of the person.' }),
    ),
    channel: emptyAsAbsent(
      z.enum(CHANNELS).optional().meta({ description: 'Without it, the one that was last acted on.' }),
    ),
    runId: emptyAsAbsent(
      id
        .optional()
        .meta({ description: 'A run of the campaign; without it, the newest one with the person.' }),
    ),
  })
  .superRefine(({ contact, to }, context) => {
    if (contact === undefined && to === undefined) {
      context.addIssue(finding('required', 'The person is named by contact or by to', ['to']));
    } else if (contact !== undefined && to !== undefined) {
      context.addIssue(finding('not_applicable', 'Contact names the person already', ['to']));
    }
  });

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
  contactId: id,
});
