import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { cursorQuery, displayName, emptyAsAbsent, id, idCursor, pageQuery, searchTerm } from './common';

/** What callers of the contact list endpoints write (api.md 6). All of it is ours, so all of it is strict. */

export const contactListBody = z.strictObject({ name: displayName });

export const contactListQuery = z.object(pageQuery);

export const contactQuery = z.object({
  ...cursorQuery,
  cursor: idCursor('con'),
  search: emptyAsAbsent(searchTerm.optional()),
});

export const contactParams = z.object({ id, contactId: id });

/** `country`, of imports and of campaigns with recipients. */
export const contactImportQuery = z.object({
  /** Default region of phone numbers, an ISO 3166 code; whether there is such a region, the importer knows. */
  country: emptyAsAbsent(
    z
      .string()
      .regex(/^[A-Za-z]{2}$/, 'This must be a country code such as US')
      .transform((value) => value.toUpperCase())
      .optional(),
  ),
});

/** The envelope alone: each contact in it is judged by itself (campaigns/contact-row.ts). */
export const contactImportBody = z.strictObject({
  contacts: z.array(z.unknown()).max(LIMITS.contactsPerRequest),
});
