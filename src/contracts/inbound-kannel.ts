import { z } from 'zod';
import { LIMITS } from '../domain/limits';

/**
 * What Kannel fills into the addresses it is given: of a receipt `id`, `dlr`, `answer` and `time`, of a
 * subscriber's message `from`, `to`, `text`, `id` and `time`. All values are text, and each may be empty.
 */
const seconds = z
  .string()
  .transform((value) =>
    /^\d{1,11}$/.test(value) ? new Date(Number(value) * 1_000).toISOString() : undefined,
  )
  .optional();

/** Some centres end a text with U+0000. It is only read, so that a wish to opt out counts whatever is around it. */
const written = z.string().transform((text) => text.replaceAll('\0', ' '));

export const kannelReport = z.object({
  id: z.string().min(1).max(LIMITS.providerIdChars),
  dlr: z
    .string()
    .regex(/^\d{1,3}$/, 'This must be the kind of a receipt, as %d gives it')
    .optional(),
  answer: written.optional(),
  from: z.string().min(1).max(64).optional(),
  to: z.string().min(1).max(64).optional(),
  text: written.optional(),
  time: seconds,
});
