import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { refused } from './finding';

/** A reason is shown in one line, in terminals too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them is the point.
const CONTROL = /[\u0000-\u001f\u007f]/;

/** What `POST /api/stop` takes. It is strict. */
export const stopBody = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.stopReasonChars)
    .refine(
      (value) => !CONTROL.test(value),
      refused('control_character', 'This holds line breaks or other control characters'),
    )
    .meta({ description: 'Shown with every campaign and message of the workspace while the stop lasts.' }),
});
