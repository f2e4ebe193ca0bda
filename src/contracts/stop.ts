import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { success, time } from './envelope';
import { refused } from './validation-issue';

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

/**
 * The answers of the stop's endpoints (api.md 19). Details of campaigns and sends, and lists, have the same
 * member.
 */
const stop = z
  .strictObject({
    since: time,
    by: z.string().nullable().meta({ description: 'The user or the client that stopped the workspace.' }),
    reason: z.string(),
  })
  .meta({ id: 'Stop' });

export const stopped = stop.nullable().meta({
  description: 'Set while the workspace is stopped: nothing of it is handed to any provider.',
});

export const begunStop = success(stop);
export const currentStop = success(stopped);
export const endedStop = success(z.null());
