/**
 * Whether the database refused the content of a statement (PostgreSQL's classes 22 data exception, 23
 * integrity constraint, 54 program limit), as opposed to not being able to do its work at the moment.
 */
export function isDataError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(22|23|54)/.test(code);
}
