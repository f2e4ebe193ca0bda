import { z } from 'zod';
import { cursorQuery, emptyAsAbsent, idCursor, searchTerm } from './common';
import { contact } from './contact-lists';
import { cursorPageOf, id, ref, success, time } from './envelope';
import { personMessage } from './messages';
import { timelineEntry } from './policy';

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

/**
 * The envelope alone, because its fields are checked like those of an import's row
 * (campaigns/contacts/contact-row.ts).
 */
export const contactChangeBody = z.record(z.string(), z.unknown());

/** What the contacts' endpoints answer (api.md 16). */
export const contactPage = cursorPageOf(contact);
export const contactDetail = success(contact);
export const erasedContact = success(ref);
export const contactExport = success(
  z
    .strictObject({
      contact: contact.nullable(),
      lists: z.array(z.strictObject({ id, name: z.string(), addedAt: time })),
      audiences: z
        .array(
          z.strictObject({
            campaignId: id,
            campaign: z.string(),
            addedAt: time,
            values: z.record(z.string(), z.unknown()).nullable(),
          }),
        )
        .meta({ description: 'Campaigns that brought the person among their own recipients.' }),
      entries: z.array(timelineEntry),
      messages: z.array(personMessage),
    })
    .meta({ id: 'ContactExport' }),
);
