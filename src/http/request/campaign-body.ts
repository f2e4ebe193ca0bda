import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import type { CountryCode } from 'libphonenumber-js/max';
import {
  checkRecipients,
  type InlineRecipients,
  type RecipientFinding,
} from '../../campaigns/contacts/inline-recipients';
import { type CampaignReferences, campaignReferences } from '../../contracts/campaign-references';
import { overByNow } from '../../contracts/campaign-schedule';
import { type CampaignBody, campaignBody, campaignDetail } from '../../contracts/campaigns';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { ValidationIssue } from '../../domain/validation-issue';
import { callerOf } from './caller';
import { regionOf } from './phone-country';
import type { App } from './routing';
import { invalidRequest } from './validation';

declare module 'fastify' {
  interface FastifyRequest {
    /** About the names of its body that no field has. */
    unknownFields: ValidationIssue[] | undefined;
  }
}

export interface CampaignRequest {
  recipients: InlineRecipients | undefined;
  /**
   * The answer with what was found beside it: names that no field has, and with `skipInvalid` the rows that were left out, at
   * most as many as a request has.
   */
  answered<T extends { warnings: ValidationIssue[] }>(done: T): T & { rejected?: RecipientFinding[] };
  /** Throws for a schedule that is over by now, which an earlier attempt at the same call may have found in time. */
  requireDue(): Promise<void>;
  /** Adds the rows that were left out to a refusal for want of an audience, because they are the reason for it. */
  withLeftOut<T>(work: Promise<T>): Promise<T>;
}

/**
 * Judges a campaign's recipients. The route attaches the problems of the rest of the request, so that the
 * caller gets both at once, with those of what the request names and the workspace does not have.
 */
export async function readCampaignRequest(
  request: FastifyRequest<{ Body: CampaignBody; Querystring: { country?: string | undefined } }>,
  unknownReferences: (workspaceId: string, named: CampaignReferences) => Promise<FieldError[]>,
): Promise<CampaignRequest> {
  const errors: FieldError[] = findingsOf(request.validationError);
  const { country, foreign } = countryOf(request.query.country);
  errors.push(...foreign);
  const { recipients: raws, skipInvalid } = (request.body ?? {}) as Partial<CampaignBody>;
  const checked =
    Array.isArray(raws) && raws.length <= LIMITS.contactsPerRequest
      ? await checkRecipients(raws, country)
      : undefined;
  if (checked && skipInvalid !== true) {
    errors.push(...listed(checked.findings));
  }
  const late = overByNow(request.body);
  const refuse = async (): Promise<never> => {
    const { data } = campaignReferences.safeParse(request.body);
    const unknown = data ? await unknownReferences(callerOf(request).workspaceId, data) : [];
    throw invalidRequest([...errors, ...late, ...unknown]);
  };
  if (errors.length > 0) await refuse();
  const requireDue = async () => {
    if (late.length > 0) await refuse();
  };
  const left = checked?.findings.slice(0, LIMITS.contactsPerRequest) ?? [];
  const withLeftOut = <T>(work: Promise<T>) =>
    work.catch((error: unknown): never => {
      const isNoneLeft = left.length > 0 && checked?.rows.length === 0;
      if (!isNoneLeft || !(error instanceof DomainError) || error.code !== 'no_audience') throw error;
      throw noneLeft(left);
    });
  const rejected = skipInvalid === true ? { rejected: left } : {};
  const { unknownFields = [] } = request;
  const answered = <T extends { warnings: ValidationIssue[] }>(done: T) => ({
    ...{ ...done, warnings: [...unknownFields, ...done.warnings] },
    ...rejected,
  });
  return { recipients: checked, answered, requireDue, withLeftOut };
}

/** A campaign that was read and is sent back has more than what creates one. */
const KNOWN = new Set([...Object.keys(campaignBody.shape), ...Object.keys(campaignDetail.shape.data.shape)]);
const LISTED_MAX = 20;
const NAME_CHARS = 64;

/** Of the routes whose requests are read so: problems of the body are attached, to be reported with those of its recipients. */
export function takesCampaigns(app: App) {
  app.decorateRequest('unknownFields', undefined);
  return { bodyLimit: LIMITS.bulkBodyBytes, attachValidation: true, preValidation: noteUnknownFields };
}

/**
 * A campaign is an object of the specification, whose unknown fields are ignored (api.md 1). A misspelt `schedule` sends at
 * once, so the answer's warnings name it. Validation drops such fields; they are noted before.
 */
const noteUnknownFields: preValidationHookHandler = (request, _reply, done) => {
  const { body } = request;
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    const unknown = Object.keys(body).filter((name) => !KNOWN.has(name));
    const named = unknown.slice(0, LISTED_MAX).map((name) => name.slice(0, NAME_CHARS));
    request.unknownFields = named.map((path) => ({
      path,
      code: 'unknown_field',
      // Commands print the message alone.
      message: `No field of a campaign is named ${path}, so that it has no effect; /docs lists them`,
      severity: 'warning',
    }));
  }
  done();
};

/** Names the first finding, as other refusals do, because some callers show the message alone. */
function noneLeft(findings: readonly RecipientFinding[]): DomainError {
  const errors = listed(findings);
  const [first, ...others] = errors;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  const message = `Every row of \`recipients\` was left out as wrong, so that there would be no recipients: ${first?.path}: ${first?.message}${more}. Correct them, or name a contact list`;
  return new DomainError('no_audience', message, { errors });
}

const listed = (findings: readonly RecipientFinding[]): FieldError[] =>
  findings.slice(0, LIMITS.importErrorsListed).map(fieldErrorOf);

function findingsOf(error: unknown): FieldError[] {
  if (error === undefined || error === null) return [];
  if (error instanceof DomainError && error.code === 'invalid_request') return [...error.errors];
  throw error;
}

function countryOf(name: unknown): { country: CountryCode | undefined; foreign: FieldError[] } {
  try {
    return { country: regionOf(typeof name === 'string' ? name : undefined), foreign: [] };
  } catch (error) {
    return { country: undefined, foreign: findingsOf(error) };
  }
}

const fieldErrorOf = ({ index, field, code, message }: RecipientFinding): FieldError => ({
  path: field === '' ? `recipients.${index}` : `recipients.${index}.${field}`,
  // Rows are checked with codes of the same catalogue (domain/field-codes.ts).
  code: code as FieldError['code'],
  message,
});
