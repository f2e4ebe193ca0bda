import { z } from 'zod';
import { count, cursorPageOf, id, importReport, pageOf, ref, success, time } from './envelope';

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
