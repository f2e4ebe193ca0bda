import pino, { type Logger } from 'pino';

export type Log = Logger;

const STANDARD_ERROR = 2;

/**
 * The program's logger: JSON lines on standard error, so that standard output is a command's own.
 * Callers log ids and codes; never an address, a token, a key or a body. The redaction is the second
 * line of defence, for objects logged whole by a library.
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
        ],
        censor: '[redacted]',
      },
    },
    pino.destination({ fd: STANDARD_ERROR, sync: true }),
  );
}
