import { TemporalFailure } from '@temporalio/workflow';

/**
 * Returns why a run cannot continue, in words for its operator. Returns undefined when the error is not a
 * failure of the run's work.
 */
export function failureReason(error: unknown): string | undefined {
  if (!(error instanceof TemporalFailure)) return undefined;
  let cause: TemporalFailure = error;
  while (cause.cause instanceof TemporalFailure) cause = cause.cause;
  if ('type' in cause && typeof cause.type === 'string') return `${cause.type}: ${cause.message}`;
  return `internal: ${cause.message}; a workflow of the run was ended from outside`;
}
