import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { searchedAddress } from './addresses';
import { cursorQuery, displayName, emptyAsAbsent, givenId, idCursor, pageQuery, searchTerm } from './common';
import { count, cursorPageOf, id, importReport, pageOf, ref, success, time } from './envelope';

/** What callers of the contact list endpoints write (api.md 6). All of it is ours, so all of it is strict. */

export const contactListBody = z.strictObject({ name: displayName });

export const contactListQuery = z.object(pageQuery);

export const contactQuery = z.object({
  ...cursorQuery,
  cursor: idCursor('con'),
  search: emptyAsAbsent(searchTerm.transform(searchedAddress).optional()),
});

export const contactParams = z.object({ id: givenId, contactId: givenId });

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

/**
 * The envelope alone, because each contact in it is checked by itself (campaigns/contacts/contact-row.ts).
 */
export const contactImportBody = z.strictObject({
  contacts: z.array(z.unknown()).max(LIMITS.contactsPerRequest),
});

/** What the contact list endpoints answer (api.md 6). */
const listMembers = { id, name: z.string(), createdAt: time, updatedAt: time };
const list = z.strictObject(listMembers).meta({ id: 'ContactList' });

export const savedContactList = success(list);
export const contactLists = pageOf(list);
export const contactListDetail = success(
  z
    .strictObject({
      ...listMembers,
      counts: z.strictObject({ contacts: count, withEmail: count, withPhone: count }),
    })
    .meta({ id: 'ContactListDetail' }),
);
export const removed = success(ref);
export const importedContacts = success(importReport);

const text = z.string().nullable();

export const contact = z
  .strictObject({
    id,
    externalId: text,
    name: text,
    email: text,
    phone: text.meta({ description: 'E.164.' }),
    timezone: text.meta({ description: 'IANA.' }),
    locale: text,
    params: z.record(z.string(), z.union([z.string(), z.number()])),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Contact' });

export const contacts = cursorPageOf(contact);
