import { z } from 'zod';
import { SCOPES } from '../domain/access';
import { PHASES } from '../domain/campaign';
import { FIELD_CODES, type FieldCode } from '../domain/field-codes';

const fieldCode = z.enum(Object.keys(FIELD_CODES) as [FieldCode]).meta({
  id: 'FieldCode',
  description: 'Explained in docs/errors.md, Fields. New ones may come; none changes its meaning.',
});

/** What we answer to requests that cannot be done, and what a check says beside one that was (api.md 1). */
const fieldError = z
  .strictObject({
    path: z
      .string()
      .meta({ description: 'Dotted, as in settings.sms.templateId; empty for the whole body.' }),
    code: fieldCode,
    message: z.string(),
  })
  .meta({ id: 'FieldError' });

export const fieldErrors = z.array(fieldError);

const problemMembers = {
  type: z.string().meta({ description: 'Where the code is explained, relative to this service.' }),
  title: z.string(),
  status: z.int(),
  code: z.string().meta({ description: 'From the catalogue; it never changes its meaning.' }),
  detail: z.string(),
  instance: z.string().meta({ description: 'The request’s id, to be quoted in reports.' }),
  errors: fieldErrors.meta({ description: 'Every finding about the request, at once.' }),
  result: z.literal('error'),
  message: z.string(),
  success: z.literal(false),
  phase: z
    .enum(PHASES)
    .optional()
    .meta({ description: 'Of a campaign that is in no phase for what was asked.' }),
  scope: z.enum(SCOPES).optional().meta({ description: 'The scope that is missing.' }),
};

/** RFC 9457, with the specification's own members in the same object (api.md 1). */
export const problem = z.strictObject(problemMembers).meta({ id: 'Problem' });

/** RFC 6749, 5.2. */
export const oauthProblem = z
  .strictObject({
    ...problemMembers,
    error: z.enum(['invalid_client', 'unsupported_grant_type', 'invalid_request', 'server_error']),
  })
  .meta({ id: 'OAuthProblem' });

/** What a check says beside an answer. */
export const warnings = z.array(
  z
    .strictObject({
      path: z.string(),
      code: fieldCode,
      message: z.string(),
      severity: z.enum(['error', 'warning']),
    })
    .meta({ id: 'Finding' }),
);
