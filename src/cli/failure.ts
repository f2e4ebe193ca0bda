import { FanfareError } from '../client/fanfare-error';
import { createLog } from '../log';
import { StartupError } from '../startup-error';
import { printable } from './command';

/** Exit codes of api.md 13. */
export const FAILED = 1;
export const USAGE_ERROR = 2;

/** The command was called wrongly, in a way that its options alone do not say. */
export class UsageError extends StartupError {}

const WRONG_CREDENTIALS =
  'Correct FANFARE_CLIENT_ID and FANFARE_CLIENT_SECRET (or FANFARE_SESSION_COOKIE), or let FANFARE_DATA_DIR name the directory of that instance.';
/** A token was had by then. */
const WRONG_KEY =
  'Correct FANFARE_API_KEY, or write a key that is not revoked into credentials.json; `fanfare key create` makes one.';
const NO_CODE =
  'A command cannot give a one-time code. Set FANFARE_SESSION_COOKIE to a session that was begun with one, or use a user without codes.';
/** After a minute of tries. An instance that never answered is named before (api-client.ts). */
const GONE_MEANWHILE =
  'Run `fanfare doctor`, which says what keeps it from answering, and this command again when it answers: what was asked may have taken effect, and `fanfare demo` carries on.';
/** By the call that was refused with 401. */
const WRONG_LOG_IN: Record<string, string | undefined> = {
  'POST /api/v1/auth/token':
    'If the secret of this client was rotated, write the new one into credentials.json, or set FANFARE_CLIENT_SECRET. Otherwise correct FANFARE_CLIENT_ID, or let FANFARE_DATA_DIR name the directory of that instance.',
  'POST /api/session':
    'If the password of this user was changed, write the new one into credentials.json; or set FANFARE_SESSION_COOKIE to a session of an administrator.',
  'GET /api/session': 'Log in again, and set FANFARE_SESSION_COOKIE to the new session.',
};

function wayOutOf({ code, status, message }: FanfareError): string | undefined {
  if (code === 'totp_required' || code === 'enrolment_required') return NO_CODE;
  if (code === 'connection_lost') return GONE_MEANWHILE;
  if (status !== 401) return undefined;
  const [call = ''] = message.split(' answered ');
  // What takes a key beside the token is all that is not below this path.
  if (!call.includes(' /api/')) return WRONG_KEY;
  return WRONG_LOG_IN[call] ?? WRONG_CREDENTIALS;
}

/**
 * An error that an operator can fix is two lines; any other is a bug and shows its stack. With `--json` a program finds
 * the same on the standard output, where it reads the answer otherwise.
 */
export function reportFailure(error: unknown, { json }: { json: boolean }): number {
  if (error instanceof StartupError) {
    process.stderr.write(`fanfare: ${error.message}\n${error.wayOut}\n`);
    const code = error instanceof UsageError ? 'usage' : 'failed';
    if (json) printFailure({ code, message: error.message, wayOut: error.wayOut });
  } else if (error instanceof FanfareError) {
    const wayOut = wayOutOf(error);
    process.stderr.write(`fanfare: ${error.message}\n${findingsOf(error)}${wayOut ? `${wayOut}\n` : ''}`);
    const { code, status, message, errors } = error;
    if (json) printFailure({ code, status, message, wayOut, errors });
  } else if (error instanceof Error && error.name === 'AbortError') {
    // Ctrl-C, while a command waited for an answer.
    const message = 'Stopped before it was done; what was sent until then may have taken effect';
    process.stderr.write(`fanfare: ${message}\n`);
    if (json) printFailure({ code: 'failed', message });
  } else {
    createLog('error').fatal({ err: error }, 'unexpected failure');
    if (json) printFailure({ code: 'unexpected', message: 'An unexpected failure; it is in the log' });
  }
  return error instanceof UsageError ? USAGE_ERROR : FAILED;
}

const FINDINGS_SHOWN = 20;

/** Each on a line of its own, because the message has the first one alone. */
function findingsOf({ errors }: FanfareError): string {
  if (errors.length < 2) return '';
  const shown = errors
    .slice(0, FINDINGS_SHOWN)
    .map(({ path, message }) => `  ${path}: ${printable(message)}\n`);
  return shown.join('') + (errors.length > FINDINGS_SHOWN ? '  and more; --json lists them all\n' : '');
}

interface Failure {
  /** `usage`, `failed`, `unexpected`, or the answer's own (docs/errors.md). */
  code: string;
  message: string;
  wayOut?: string | undefined;
  status?: number;
  errors?: unknown[];
}

export function printFailure(failure: Failure): void {
  process.stdout.write(`${JSON.stringify({ result: 'error', ...failure })}\n`);
}
