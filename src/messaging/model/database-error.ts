import { isStale } from '../../storage/statement-names';

/**
 * Whether the database refused the content of a statement (PostgreSQL's classes 22 data exception, 23 integrity
 * constraint, 54 program limit). Other errors mean that it could not do its work at the moment.
 */
export function isDataError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(22|23|54)/.test(code);
}

/**
 * Whether an error says that the database cannot be reached, is going down or could not do its work at this
 * moment, so that a repetition may succeed soon. A commit whose answer was lost is one of these, so a caller
 * that repeats must know what was done before.
 */
export function isUnavailable(error: unknown): boolean {
  const { code = '', message = '', syscall } = (error ?? {}) as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return false;
  // In a transaction, which is lost with it; a repetition has a new plan.
  if (isStale(error)) return true;
  // The socket of a managed server that is being restarted.
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
 * PostgreSQL: connection exceptions; no connection, room on the disk or memory left; shut down, starting up, or only
 * reading, as an earlier primary after a failover does; our connection was ended, because it or its transaction was idle
 * for too long; and transactions rolled back because of a deadlock.
 */
const SQL_STATES = /^(08...|25006|25P03|53...|57P0[1-35]|40001|40P01)$/;

/** Messages of the driver without a code. */
const WORDS = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
];
