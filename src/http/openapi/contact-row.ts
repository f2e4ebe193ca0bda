import { z } from 'zod';
import { params } from '../../contracts/params';

/** A row of an import or of a campaign's recipients, as campaigns/contacts/contact-row.ts checks it. */
export const contactRow = z
  .strictObject({
    externalId: z.string().max(255).nullish(),
    name: z.string().max(200).nullish(),
    email: z.string().max(254).nullish(),
    phone: z.string().max(64).nullish(),
    timezone: z.string().max(64).nullish(),
    locale: z.string().max(64).nullish(),
    params: params.nullish(),
  })
  .meta({ id: 'ContactRow', description: 'At least one address; IANA time zone; language tag.' });
