import { z } from 'zod';
import { CHANNELS } from '../domain/channel';

/**
 * What we answer (api.md 1), for the API's document. Nothing is parsed with these: a test holds real answers
 * against them. Objects of ours are strict, so that a field without documentation is noticed.
 */

/** ISO 8601, UTC, with milliseconds. */
export const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: 'date-time' });

/** Opaque, URL-safe, and sorted by creation. */
export const id = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9_.:-]+$/);

export const channel = z.enum(CHANNELS);

export const count = z.int().min(0);

const envelope = { result: z.literal('success'), status: z.int(), message: z.string() };

export const success = <Data extends z.ZodType>(data: Data) => z.strictObject({ ...envelope, data });

/** What the template endpoints answer besides: the specification's `success`. */
export const successToo = { success: z.literal(true), ...envelope };

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    ...envelope,
    data: z.array(item),
    pagination: z.strictObject({ page: z.int().min(1), limit: z.int().min(1), total: count }),
  });

/** `next` is null at the end. */
export const cursorPageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ ...envelope, data: z.array(item), next: z.string().nullable() });

const rowError = z.strictObject({
  line: z.int().min(1),
  field: z.string(),
  code: z.string(),
  message: z.string(),
});

/** The report of an upload of rows. Each row is checked alone. */
export const importReport = z
  .strictObject({
    received: count,
    created: count,
    updated: count,
    unchanged: count,
    rejected: count,
    errors: z.array(rowError).max(1_000).meta({ description: 'The first 1,000; `rejected` counts all.' }),
  })
  .meta({ id: 'ImportReport' });

export const ref = z.strictObject({ id });

/** A member of each run. */
export const recipientsDeletedAt = time.nullable().meta({
  description:
    'When its recipients were deleted, because it ended longer ago than records are kept. Its counts and outcomes stay.',
});

export const perChannel = <Value extends z.ZodType>(value: Value) => z.partialRecord(channel, value);
export const tally = <Name extends string>(names: readonly Name[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>);
