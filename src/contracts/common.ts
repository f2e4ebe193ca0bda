import { z } from 'zod';
import { isOfOurTime } from '../domain/instants';
import { LIMITS } from '../domain/limits';
import { refused } from './validation-issue';

/** Pieces that several contracts share (api.md 1). */

/** A query parameter that is present but empty counts as absent. */
export const emptyAsAbsent = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema);

/** Not `z.int()`: its finding ends the parsing, and those of fields that belong together would not be made. */
export const integer = z.number().multipleOf(1, 'This must be a whole number').meta({ type: 'integer' });

/** The largest number of the database's usual whole numbers: a position in a list, a version. */
export const INT_MAX = 2_147_483_647;

/** RFC 3339, whose times have seconds, which other forms of ISO 8601 leave out. */
export const TIME_FORM =
  'This must be a time with seconds and an offset, such as 2026-12-01T10:00:00Z or 2026-12-01T12:00:00+02:00';

/** As it is written, with its offset, for what means the hour on the wall as well. */
export const instantAsWritten = z.iso.datetime({ offset: true, error: TIME_FORM }).refine(
  (value) => {
    const ms = Date.parse(value);
    // A text that is no time at all has an error of its own already.
    return Number.isNaN(ms) || isOfOurTime(ms);
  },
  refused('invalid_time', 'This must be a time between the years 1970 and 9999'),
);

export const instant = instantAsWritten.transform((value) => new Date(value).toISOString());

/** A time in a query string, where an unescaped plus of its offset arrives as a space. Empty counts as absent. */
export const queriedInstant = z.preprocess(
  (value) =>
    typeof value === 'string' && value !== '' ? value.replace(/ (?=\d{2}:\d{2}$)/, '+') : undefined,
  instant.optional(),
);

/** A whole number as a query string has it. */
export const wholeNumber = (bounds: { min: number; max: number }) =>
  z
    .string()
    .regex(/^\d{1,10}$/, 'This must be a whole number')
    .transform(Number)
    .pipe(z.number().min(bounds.min).max(bounds.max))
    .meta({ type: 'integer', minimum: bounds.min, maximum: bounds.max });

export const pageNumber = wholeNumber({ min: 1, max: 1_000_000_000 });

export const pageLimit = (max: number = LIMITS.pageSizeMax) => wholeNumber({ min: 1, max });

export const searchTerm = z
  .string()
  .max(LIMITS.searchChars)
  .meta({ description: 'Case does not matter, and % and _ are themselves.' });

/** For lists by page whose parameters are ours, with defaults. */
export const pageQuery = {
  page: emptyAsAbsent(pageNumber.default(1)),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
  search: emptyAsAbsent(searchTerm.optional()),
};

/** For long lists read by cursor. */
export const cursorQuery = {
  cursor: z
    .string()
    .max(512)
    // Not taken for an absent one: a program that lost its place would read the first page for ever.
    .refine(
      (value) => value !== '',
      refused(
        'invalid_cursor',
        'This is no cursor of this list; send `next` of an earlier page, or none for the first page',
      ),
    )
    .meta({ description: '`next` of the page before.' })
    .optional(),
  limit: emptyAsAbsent(pageLimit(LIMITS.longPageSizeMax).default(LIMITS.pageSizeMax)),
};

/** The same for lists whose cursor is the last id of the page, of the kind that begins so. */
export const idCursor = (prefix: string) =>
  z
    .string()
    .refine(
      (value) => isIdOf(prefix, value),
      refused(
        'invalid_cursor',
        'This is no cursor of this list; send `next` of an earlier page, or none for the first page',
      ),
    )
    .meta({ description: '`next` of the page before.' })
    .optional();

const isIdOf = (prefix: string, value: string) => new RegExp(`^${prefix}_[0-9a-z]{19,26}$`).test(value);

const NAME_CHARS_MAX = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them is the point.
const CONTROL = /[\u0000-\u001f\u007f]/;

/** A name is shown in one line, in terminals too. */
export const displayName = z
  .string()
  .trim()
  .min(1)
  .max(NAME_CHARS_MAX)
  .refine(
    (value) => !CONTROL.test(value),
    refused('control_character', 'This holds line breaks or other control characters'),
  );

export const givenId = z.string().min(1).max(LIMITS.idChars);

export const idParams = z.object({ id: givenId });

/** A cursor is opaque to callers: where the next page begins, in whatever terms its list is ordered. */
export function encodeCursor(position: unknown): string {
  return Buffer.from(JSON.stringify(position), 'utf8').toString('base64url');
}

/** `undefined` for text that is not a cursor of this kind. */
export function decodeCursor<Position>(schema: z.ZodType<Position>, cursor: string): Position | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

export const timestamp = (date: Date): string => date.toISOString();

export interface Answer<Data> {
  result: 'success';
  status: number;
  message: string;
  data: Data;
}

/** What our additions to the specification answer with. */
export function answer<Data>(status: number, message: string, data: Data): Answer<Data> {
  return { result: 'success', status, message, data };
}
