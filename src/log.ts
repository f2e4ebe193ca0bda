import pino, { type Logger } from 'pino';
import { EqualWarnings } from './equal-warnings';

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
          const count = warnings.note(fields, message[0]);
          if (count === 1) write.apply(this, args);
          else if (count !== undefined) write.apply(this, [{ ...fields, count }, ...message] as typeof args);
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
