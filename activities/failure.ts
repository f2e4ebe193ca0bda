import { ApplicationFailure } from '@temporalio/activity';
import { ERRORS, isDomainError } from '../src/domain/errors';
import { LIMITS } from '../src/domain/limits';

/**
 * The only place where an error of ours becomes a Temporal failure: its type is the catalogue's code, and
 * it is retried unless its class says that retrying is useless. Unknown errors stay retryable.
 */
export function asFailure(error: unknown): unknown {
  if (!isDomainError(error)) return error;
  const { retry } = ERRORS[error.code];
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: retry === 'permanent' || retry === 'account',
    ...(error.retryAfterSeconds
      ? { nextRetryDelay: Math.min(error.retryAfterSeconds * 1_000, LIMITS.activityRetryMaxMs) }
      : {}),
  });
}
