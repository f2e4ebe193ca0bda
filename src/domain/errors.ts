import type { Scope } from './access';
import type { Phase } from './campaign';
import type { FieldCode } from './field-codes';

/**
 * The error catalogue. One code serves as HTTP problem code, Temporal failure type, log field, and the code
 * stored with an outcome. A code is never reused for another meaning.
 *
 * Retry classes:
 *
 * - `permanent`: the same call will fail again; do not retry.
 * - `transient`: retry later, after the given delay if there is one.
 * - `throttled`: the other side asked us to slow down; this does not count as an attempt.
 * - `account`: concerns all recipients (credentials, quota); stop and tell the operator, use no recipient's
 * attempt.
 * - `unknown`: the other side may have acted; never repeat without a check.
 */
export type RetryClass = 'permanent' | 'transient' | 'throttled' | 'account' | 'unknown';

interface CatalogueEntry {
  title: string;
  status: number;
  retry: RetryClass;
}

export const ERRORS = {
  // Requests
  malformed_body: { title: 'Body is not valid JSON', status: 400, retry: 'permanent' },
  malformed_request: { title: 'Not a valid HTTP request', status: 400, retry: 'permanent' },
  unsupported_grant_type: { title: 'Unsupported grant type', status: 400, retry: 'permanent' },
  invalid_request: { title: 'Request is not valid', status: 422, retry: 'permanent' },
  idempotency_key_reused: {
    title: 'Idempotency-Key used with another payload',
    status: 422,
    retry: 'permanent',
  },
  missing_params: { title: 'Placeholders without a value', status: 422, retry: 'permanent' },
  not_found: { title: 'Not found', status: 404, retry: 'permanent' },
  template_not_found: { title: 'Template not found', status: 422, retry: 'permanent' },
  contact_list_not_found: { title: 'Contact list not found', status: 422, retry: 'permanent' },
  // Concerns all messages of the sender alike: a run stops for it and can be resumed.
  sender_not_allowed: { title: 'Sender not allowed', status: 422, retry: 'account' },
  not_possible: { title: 'No account can send it this way', status: 422, retry: 'account' },
  message_not_possible: { title: 'No account can send this message', status: 422, retry: 'permanent' },
  insecure_links: { title: 'Links in mail would not be https', status: 422, retry: 'account' },
  no_audience: { title: 'Campaign has no recipients', status: 422, retry: 'permanent' },
  campaign_not_found: { title: 'Campaign not found', status: 422, retry: 'permanent' },
  method_not_allowed: { title: 'Method not allowed', status: 405, retry: 'permanent' },
  request_timeout: { title: 'Request took too long to arrive', status: 408, retry: 'transient' },
  body_too_large: { title: 'Body too large', status: 413, retry: 'permanent' },
  headers_too_large: { title: 'Path and headers too large', status: 431, retry: 'permanent' },
  unsupported_media_type: { title: 'Unsupported content type', status: 415, retry: 'permanent' },
  private_target: { title: 'Address is not public', status: 422, retry: 'permanent' },
  // Who is calling
  invalid_client: { title: 'Client credentials refused', status: 401, retry: 'account' },
  unauthenticated: { title: 'Not authenticated', status: 401, retry: 'account' },
  forbidden: { title: 'Not allowed', status: 403, retry: 'account' },
  scope_missing: { title: 'Client or key without the scope', status: 403, retry: 'account' },
  totp_required: { title: 'One-time code needed', status: 401, retry: 'permanent' },
  enrolment_required: { title: 'One-time codes have to be set up first', status: 403, retry: 'permanent' },
  wrong_password: { title: 'Current password is wrong', status: 403, retry: 'permanent' },
  user_mismatch: { title: 'User does not match the session', status: 403, retry: 'permanent' },
  user_required: { title: 'A client cannot do this', status: 403, retry: 'permanent' },
  own_campaign: { title: 'Own campaigns are approved by others', status: 403, retry: 'permanent' },
  cross_site: { title: 'Cross-site request refused', status: 403, retry: 'permanent' },
  too_many_attempts: { title: 'Too many failed attempts', status: 429, retry: 'throttled' },
  // State conflicts
  uid_conflict: { title: 'uid already used for another message', status: 409, retry: 'permanent' },
  totp_enabled: { title: 'One-time codes are on already', status: 409, retry: 'permanent' },
  totp_not_begun: { title: 'Nothing to confirm', status: 409, retry: 'permanent' },
  name_taken: { title: 'Name already in use', status: 409, retry: 'permanent' },
  idempotency_in_progress: {
    title: 'First call with this Idempotency-Key is still running',
    status: 409,
    retry: 'transient',
  },
  last_admin: { title: 'This is the last administrator', status: 409, retry: 'permanent' },
  campaigns_client: { title: 'Client belongs to the campaigns', status: 409, retry: 'permanent' },
  limit_reached: { title: 'Limit reached', status: 409, retry: 'permanent' },
  cursor_expired: { title: 'Events at this cursor are no longer kept', status: 410, retry: 'permanent' },
  not_cancelable: { title: 'Message can no longer be canceled', status: 409, retry: 'permanent' },
  campaign_started: { title: 'Campaign has already started', status: 409, retry: 'permanent' },
  illegal_transition: { title: 'Not possible in this phase', status: 409, retry: 'permanent' },
  recipients_deleted: { title: 'Recipients are deleted', status: 409, retry: 'permanent' },
  approval_required: { title: 'Campaign needs an approval', status: 409, retry: 'permanent' },
  digest_changed: { title: 'Campaign has changed since its digest', status: 409, retry: 'permanent' },
  stopped: { title: 'Workspace is stopped', status: 409, retry: 'transient' },
  contact_exists: { title: 'Another contact has this id or address', status: 409, retry: 'permanent' },
  list_in_use: { title: 'Contact list is in use', status: 409, retry: 'permanent' },
  environment_account: { title: 'Account is made by the environment', status: 409, retry: 'permanent' },
  account_routed: { title: 'A route names the account', status: 409, retry: 'permanent' },
  account_busy: { title: 'Messages are under way by the account', status: 409, retry: 'transient' },
  sender_taken: { title: 'Another workspace has the sender', status: 409, retry: 'permanent' },
  webhook_disabled: { title: 'Webhook is disabled', status: 409, retry: 'permanent' },
  // Capacity and dependencies
  outbox_full: { title: 'Outbox is full', status: 429, retry: 'throttled' },
  too_many_requests: { title: 'Too many requests of this workspace', status: 429, retry: 'throttled' },
  too_many_streams: { title: 'Too many progress streams', status: 429, retry: 'throttled' },
  overloaded: { title: 'Too much work waiting', status: 503, retry: 'throttled' },
  dependency_down: { title: 'A dependency is not available', status: 503, retry: 'transient' },
  service_not_found: { title: 'No messaging service at its address', status: 503, retry: 'account' },
  internal: { title: 'Internal error', status: 500, retry: 'transient' },
  // Provider and service answers, stored with a recipient or message
  provider_rejected: { title: 'Refused by the provider', status: 422, retry: 'permanent' },
  provider_transient: { title: 'Provider failed for the moment', status: 503, retry: 'transient' },
  provider_throttled: { title: 'Provider asked to slow down', status: 429, retry: 'throttled' },
  provider_account: { title: 'Provider refused our account', status: 503, retry: 'account' },
  answer_lost: { title: 'Sent, but the answer was lost', status: 504, retry: 'unknown' },
  call_end_unknown: { title: 'The end of the call was never reported', status: 504, retry: 'unknown' },
  expired: { title: 'Too late to send', status: 422, retry: 'permanent' },
  frequency_cap: { title: 'Frequency cap reached', status: 422, retry: 'permanent' },
  attempts_exhausted: { title: 'All attempts used', status: 422, retry: 'permanent' },
  // The durable run. The attempt that took the page over may be the older one, because a frozen process may
  // wake in the middle of a statement.
  page_fenced: { title: 'Another attempt took this page over', status: 409, retry: 'transient' },
  run_not_found: { title: 'Run not found', status: 404, retry: 'permanent' },
  abort_threshold: { title: 'Too many recipients failed', status: 409, retry: 'permanent' },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** A carrier may have the message, because its answer was lost. */
export const ANSWER_LOST = 'answer_lost' satisfies ErrorCode;

/** The class of a code that came from outside; undefined for a code that is not in the catalogue. */
export function retryClassOf(code: string | undefined): RetryClass | undefined {
  return code !== undefined && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].retry : undefined;
}

/** One finding about one field of an input; `path` is dotted, as in `settings.sms.templateId`. */
export interface FieldError {
  path: string;
  code: FieldCode;
  message: string;
}

/**
 * An expected failure with a code from the catalogue. `message` says what happened, to which id and what to do.
 * It never holds a secret or an address.
 */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly errors: FieldError[];
  /** When to try again, in seconds, if known. */
  readonly retryAfterSeconds: number | undefined;
  /** Phase of the campaign, if the phase forbids the action. */
  readonly phase: Phase | undefined;
  /** The scope that is missing. */
  readonly scope: Scope | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: {
      errors?: FieldError[];
      retryAfterSeconds?: number;
      phase?: Phase;
      scope?: Scope;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'DomainError';
    this.code = code;
    this.errors = details.errors ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.phase = details.phase;
    this.scope = details.scope;
  }
}

/** Checks the shape, because classes differ between the workflow sandbox, jest and worker threads. */
export function isDomainError(error: unknown): error is DomainError {
  return error instanceof Error && error.name === 'DomainError' && (error as DomainError).code in ERRORS;
}
