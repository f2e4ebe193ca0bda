import { z } from 'zod';
import { LIMITS } from '../domain/limits';

/** Recipients that are added to a campaign (api.md 19): the envelope alone, each row is judged by itself. */
export const recipientsBody = z.strictObject({
  recipients: z.array(z.unknown()).max(LIMITS.contactsPerRequest),
});
