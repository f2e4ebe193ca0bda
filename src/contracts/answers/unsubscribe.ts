import { z } from 'zod';
import { success } from './envelope';

/** What a link in a mail answers to programs. */
export const linkAnswer = success(z.strictObject({ unsubscribed: z.boolean() }));
