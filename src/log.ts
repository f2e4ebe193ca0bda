import pino, { type Logger } from 'pino';

export type Log = Logger;

const STANDARD_ERROR = 2;

/**
 * The program's logger: JSON lines on standard error, because standard output belongs to commands. Callers log
 * ids and codes; never an address, a token, a key or a body. The redaction is a second protection, for objects
 * that a library logs as a whole.
 */
export function createLog(level: string): Log {
  return pino(
    {
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
