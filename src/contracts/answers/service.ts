import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../domain/errors';
import { count, success } from './envelope';

/** What everybody may ask of the process itself, and what carriers are told. */
export const alive = z.strictObject({ status: z.literal('ok') });

export const ready = z.strictObject({
  status: z.literal('ready'),
  checks: z
    .record(z.string(), z.literal(true))
    .meta({ description: 'What the process depends on, by name.' }),
});

export const takenReceipts = success(z.strictObject({ receipts: count, inbound: count }));

export const openApiDocument = z
  .looseObject({
    openapi: z.string().regex(/^3\.1\.\d+$/),
    info: z.looseObject({}),
    paths: z.looseObject({}),
  })
  .meta({ description: 'OpenAPI 3.1.' });

export const errorCatalogue = z.strictObject({
  errors: z.array(
    z.strictObject({
      code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
      title: z.string(),
      status: z.int(),
      retry: z.enum(['permanent', 'transient', 'throttled', 'account', 'unknown']),
    }),
  ),
});
