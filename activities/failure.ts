import { ApplicationFailure } from '@temporalio/activity';
import { ERRORS, isDomainError } from '../src/domain/errors';
import { LIMITS } from '../src/domain/limits';

/**
 * The only place where our error becomes a Temporal failure. Its type is the catalogue's code. It is retried
 * unless the code's class says that retrying is useless; unknown errors are retried.
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
