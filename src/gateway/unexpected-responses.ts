import { retryClassOf } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { HttpAnswer } from './transport';

/** After a pause of so long it is another trouble, and the first answer of it proves nothing. */
const APART_MS = 60_000;
/** What says that nothing takes such a request at this address; a redirection does as well. */
const NOT_HERE: ReadonlySet<number> = new Set([404, 405, 415, 421, 426]);

/** Whether what answered a message seems not to be a messaging service at all, so that it speaks of no message. */
export function isUnexpected({ status, body }: HttpAnswer): boolean {
  if (retryClassOf((body as { code?: string } | undefined)?.code) === 'account') return false;
  return (status >= 300 && status < 400) || NOT_HERE.has(status);
}

/**
 * How long nothing but strange answers have come from one address. A proxy gives some while what is behind it starts
 * anew, and they are waited out; a wrong URL gives them for ever, and a person must be told.
 */
export class UnexpectedResponses {
  private since = 0;
  private last = Number.NEGATIVE_INFINITY;

  /** One more of them; answers whether a person must look by now. */
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
