import type { ReactNode } from 'react';
import { ApiProblem, NoAnswer, Unreachable } from '../api/problem';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { Button } from './button';

/** Nothing is here yet, and what would bring something. */
export function EmptyState({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
      {action}
    </div>
  );
}

/** What went wrong, in the API's words, with its findings and the request's id for the operator who has the logs. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof ApiProblem ? error : undefined;
  return (
    <div className="state bad" role="alert">
      <h2>{problem?.title ?? TEXTS.common.failed}</h2>
      <p>{messageOf(error)}</p>
      {problem && problem.findings.length > 1 && (
        <ul>
          {problem.findings.slice(0, 20).map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {problem?.requestId && (
        <p className="muted small mono">{fill(TEXTS.common.requestId, { id: problem.requestId })}</p>
      )}
      {onRetry && <Button onClick={onRetry}>{TEXTS.common.retry}</Button>}
    </div>
  );
}

export function messageOf(error: unknown): string {
  if (error instanceof Unreachable) return TEXTS.common.unreachable;
  if (error instanceof NoAnswer) return fill(TEXTS.common.noAnswer, { seconds: error.seconds });
  return error instanceof Error ? error.message : String(error);
}

/** Grey lines where content will be; heard as one word. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status">
      <p className="only-heard">{TEXTS.common.loading}</p>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <span key={line} />
      ))}
    </div>
  );
}
