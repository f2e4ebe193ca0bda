import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../domain/errors';

export const openApiAnswer = z
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
