import type { ReactNode } from 'react';
import { isProblem } from '../api/problem';
import { TEXTS } from '../texts';
import { EmptyState, ErrorState, Skeleton } from './states';

interface Reading<Data> {
  data: Data | undefined;
  error: unknown;
  refetch(): unknown;
}

interface LoadedProps<Data> {
  query: Reading<Data>;
  /** Grey lines until it is there. */
  lines?: number;
  children(data: Data): ReactNode;
}

/**
 * What was read, or what stands in its place: grey lines, what went wrong with a way to try again, or that this person
 * may not see it. What was read before stays when a later try fails, because a banner says that it may be old.
 */
export function Loaded<Data>({ query: { data, error, refetch }, lines, children }: LoadedProps<Data>) {
  if (data !== undefined) return children(data);
  if (isProblem(error, 403)) {
    return <EmptyState title={TEXTS.common.forbidden}>{error.message}</EmptyState>;
  }
  if (isProblem(error, 404)) {
    return <EmptyState title={TEXTS.common.absent}>{TEXTS.common.absentText}</EmptyState>;
  }
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}
