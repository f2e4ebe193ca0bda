import { z } from 'zod';
import { contact } from './contact-lists';
import { cursorPageOf, id, ref, success, time } from './envelope';
import { timelineEntry } from './policy';

/** What the contacts' endpoints answer (api.md 16). */
export const contactPage = cursorPageOf(contact);
export const contactDetail = success(contact);
export const erasedContact = success(ref);
export const contactExport = success(
  z
    .strictObject({
      contact,
      lists: z.array(z.strictObject({ id, name: z.string(), addedAt: time })),
      entries: z.array(timelineEntry),
    })
    .meta({ id: 'ContactExport' }),
);
