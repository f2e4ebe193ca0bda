import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { DomainError, type FieldError } from '../../domain/errors';
import type { FieldCode } from '../../domain/field-codes';
import { findUnstorable } from './unstorable-text';

/**
 * Checks a request against its route's zod schemas. All problems are reported at once, as 422. A path parameter
 * that cannot be an id names nothing and is a 404.
 */
export const validateWithZod: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (data) => {
    const checked = parsed(schema, data);
    if (!checked.success) {
      if (httpPart === 'params') return { error: noSuchId() };
      return { error: invalidRequest(checked.error.issues.flatMap((issue) => fieldErrors(issue))) };
    }
    // Bodies were checked when they were parsed; the rest of a request arrives percent-encoded. What the route takes is
    // checked, because its schema may take out what cannot be stored.
    const unstorable = httpPart === 'body' ? undefined : findUnstorable(checked.data);
    if (!unstorable) return { value: checked.data };
    return { error: httpPart === 'params' ? noSuchId() : invalidRequest([unstorable]) };
  };
};

/**
 * What is wrong is looked for with the input beside each finding, which tells what is missing. Only then, because to ask for
 * it costs every valid request 2 to 3 µs: zod copies the options, and an object made by a copy is slow for V8.
 */
function parsed<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  const checked = schema.safeParse(data);
  return checked.success ? checked : schema.safeParse(data, { reportInput: true });
}

const noSuchId = () =>
  new DomainError('not_found', 'There is nothing with this id, which is not of the form that ids have');

/** For a body that only its route's handler can check. `found`: problems of it that are known already. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  found: readonly FieldError[] = [],
): z.output<Schema> {
  const checked = parsed(schema, body);
  if (checked.success && found.length === 0) return checked.data;
  const more = checked.error?.issues.flatMap((issue) => fieldErrors(issue)) ?? [];
  throw invalidRequest(withoutRepeats([...found, ...more]));
}

export const withoutRepeats = (errors: readonly FieldError[]): FieldError[] => [
  ...new Map(errors.map((one) => [`${one.path} ${one.code}`, one])).values(),
];

/** For routes with `attachValidation`, which look for further problems before they refuse. */
export const problemsOf = ({ validationError }: FastifyRequest): readonly FieldError[] =>
  validationError ? (validationError as unknown as DomainError).errors : [];

/** For checks that need more than a schema; contracts and routes report in the same form. */
export function invalidRequest(errors: FieldError[]): DomainError {
  const [first, ...others] = errors;
  const told = first ? [first.path, first.message].filter(Boolean).join(': ') : 'The request is not valid';
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return new DomainError('invalid_request', told + more, { errors });
}

export const unknownCursor = (): DomainError =>
  invalidRequest([
    {
      path: 'cursor',
      code: 'invalid_cursor',
      message: 'This is no cursor of this list; send `next` of an earlier page, or none for the first page',
    },
  ]);

/** Zod's codes for a missing value: of a type, or of one of several values. */
const MISSING_AS = new Set(['invalid_type', 'invalid_value']);

export function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: path === '' ? key : `${path}.${key}`,
      code: 'unknown_field',
      message: 'This field is not known here',
    }));
  }
  if (MISSING_AS.has(issue.code) && issue.input === undefined) {
    return [{ path, code: 'required', message: 'This field is required' }];
  }
  const code = issue.code === 'custom' ? (issue.params?.code as FieldCode) : issue.code;
  return [{ path, code, message: issue.message }];
}
