/**
 * Whether the database refused the content of a statement (PostgreSQL's classes 22 data exception, 23
 * integrity constraint, 54 program limit), as opposed to not being able to do its work at the moment.
 */
export function isDataError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(22|23|54)/.test(code);
}

/**
 * Whether an error says that the database cannot be reached, is going down or could not do it at this moment, as
 * opposed to refusing what it was asked: the same call may succeed in a moment. A commit whose answer was lost is
 * among them, so whoever repeats must know what was done before.
 */
export function isUnavailable(error: unknown): boolean {
  const { code = '', message = '', syscall } = (error ?? {}) as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return false;
  // The socket of a managed server that is being started again.
  if (code === 'ENOENT' && syscall === 'connect') return true;
  return CODES.has(code) || SQL_STATES.test(code) || WORDS.some((words) => message.startsWith(words));
}

const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * PostgreSQL: connection exceptions, no connection left, shut down or starting up; that it has ended our connection
 * because nothing was said in a transaction for long; and what it gave up and rolled back because two waited for
 * each other.
 */
const SQL_STATES = /^(08...|25P03|53300|57P0[1-3]|40001|40P01)$/;

/** What the driver says without a code. */
const WORDS = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
];
