import { inspect } from 'node:util';
import pino, { type Logger } from 'pino';
import { LIMITS } from './domain/limits';

export type Log = Logger;

const STANDARD_ERROR = 2;
const WARN = pino.levels.values.warn;

/**
 * The program's logger: JSON lines on standard error, because standard output belongs to commands. Callers log
 * ids and codes; never an address, a token, a key or a body. The redaction is a second protection, for objects
 * that a library logs as a whole.
 */
export function createLog(level: string): Log {
  const warnings = new EqualWarnings();
  return pino(
    {
      hooks: {
        logMethod(args, write, severity) {
          const [fields, ...message] = args as [unknown, string?];
          if (severity !== WARN || typeof fields !== 'object' || fields === null)
            return write.apply(this, args);
          const times = warnings.note(fields, message[0]);
          if (times === 1) write.apply(this, args);
          else if (times !== undefined) write.apply(this, [{ ...fields, times }, ...message] as typeof args);
        },
      },
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          '*.authorization',
          '*.cookie',
          '*.password',
          '*.secret',
          '*.to',
          '*.from',
          '*.address',
          '*["x-api-key"]',
          // What PostgreSQL adds to an error quotes the row that was refused.
          ...['err.detail', 'err.where', 'err.internalQuery'],
        ],
        censor: '[redacted]',
      },
    },
    pino.destination({ fd: STANDARD_ERROR, sync: true }),
  );
}

/**
 * Which warnings are written: the first of equal ones at once, and then one a minute that says how many there were.
 * Loops that try again several times a second would else fill the log with one error while a database is away, and what
 * it began with would be lost among thousands of stacks.
 */
export class EqualWarnings {
  private readonly written = new Map<string, { atMs: number; more: number }>();

  /** Returns the number of equal warnings that this one is written for, or undefined if it is not. */
  note(fields: object, message: string | undefined, nowMs: number = Date.now()): number | undefined {
    const key = keyOf(fields, message);
    const last = this.written.get(key);
    // A clock that is set back does not silence a warning for longer.
    if (last && Math.abs(nowMs - last.atMs) < LIMITS.warningsEqualMs) {
      last.more += 1;
      return undefined;
    }
    const [oldest] = this.written.keys();
    if (!last && this.written.size >= LIMITS.warningsEqualHeld && oldest !== undefined)
      this.written.delete(oldest);
    this.written.set(key, { atMs: nowMs, more: 0 });
    return 1 + (last?.more ?? 0);
  }
}

/** Of an error its words, because its stack differs by the caller. */
function keyOf(fields: object, message: string | undefined): string {
  const words = Object.entries(fields).map(
    ([name, value]) => `${name}=${value instanceof Error ? value.message : inspect(value)}`,
  );
  return `${message} ${words.join(' ')}`;
}
