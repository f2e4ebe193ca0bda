import { z } from 'zod';
import { success } from './envelope';

/**
 * What is posted to a link that unsubscribes: by a mail program what RFC 8058 says, by the page what its button
 * says. Anything else is a program that tries links out, and unsubscribes no recipient.
 */
export const unsubscribeBody = z.union(
  [
    z
      .object({ 'List-Unsubscribe': z.string().regex(/^[Oo][Nn][Ee]-[Cc][Ll][Ii][Cc][Kk]$/) })
      .transform(() => 'unsubscribe' as const),
    z.object({ action: z.literal('resubscribe') }).transform(() => 'resubscribe' as const),
  ],
  { error: 'This must be List-Unsubscribe=One-Click, or action=resubscribe' },
);

/** What a link in a mail answers to programs. */
export const linkAnswer = success(z.strictObject({ unsubscribed: z.boolean() }));
