import { ApiProblem } from './problem';

/** What the API says of one field of a form: every finding at `path` or below it, in one sentence. */
export function findingAt(error: unknown, path: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const own = error.findings.filter((one) => one.path === path || one.path.startsWith(`${path}.`));
  return own.length === 0 ? undefined : own.map(({ message }) => message).join(' ');
}
