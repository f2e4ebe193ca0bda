import { retryClassOf } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { HttpAnswer } from './transport';

/** After a pause this long it counts as a new problem, and its first answer proves nothing. */
const APART_MS = 60_000;
/** Statuses that say that this address does not handle such a request; a redirect says so too. */
const NOT_HERE: ReadonlySet<number> = new Set([404, 405, 415, 421, 426]);

/** Whether the answer seems not to come from a messaging service, so that it says nothing about the message. */
export function isUnexpected({ status, body }: HttpAnswer): boolean {
  if (retryClassOf((body as { code?: string } | undefined)?.code) === 'account') return false;
  return (status >= 300 && status < 400) || NOT_HERE.has(status);
}

/**
 * Measures how long an address has given only unexpected answers. A proxy gives some while the service behind
 * it restarts, and these are waited out. A wrong URL gives them for ever, and an operator must know.
 */
export class UnexpectedResponses {
  private since = 0;
  private last = Number.NEGATIVE_INFINITY;

  /** Counts one more of them; returns whether an operator must know by now. */
  note(now = Date.now()): boolean {
    if (now - this.last > APART_MS) this.since = now;
    this.last = now;
    return now - this.since >= LIMITS.strangeServiceMs;
  }

  /** The service itself has answered. */
  over(): void {
    this.last = Number.NEGATIVE_INFINITY;
  }
}
