import { z } from 'zod';
import { cursorQuery, emptyAsAbsent, idCursor, searchTerm } from './common';

/** What callers of the contacts' endpoints write (api.md 16). */

export const contactSearchQuery = z.object({
  ...cursorQuery,
  cursor: idCursor('con'),
  search: emptyAsAbsent(
    searchTerm
      .optional()
      .meta({ description: 'An external id, an email address or a phone number, or how one begins.' }),
  ),
});

/** Asked for in so many words, because nothing brings the person back. */
export const contactEraseQuery = z.object({
  erase: z.literal('true', { error: 'Deleting a contact erases the person everywhere: say erase=true' }),
});

/** The envelope alone: its fields are judged as those of an import's row are (campaigns/contacts/contact-row.ts). */
export const contactChangeBody = z.record(z.string(), z.unknown());
