import { DomainError, isDomainError } from '../../../domain/errors';
import { isDataError } from '../../model/database-error';

/** What the database said, in the caller's terms. Its own words may quote the message, so they stay here. */
export function refusal(error: unknown): unknown {
  if (isDomainError(error)) return error;
  return isDataError(error)
    ? new DomainError('invalid_request', 'The message holds a value that cannot be stored; correct it', {
        cause: error,
      })
    : new DomainError('dependency_down', 'The database did not take the message; try again', {
        retryAfterSeconds: 2,
        cause: error,
      });
}
