import { randomBytes, timingSafeEqual } from 'node:crypto';

const HEADER = 'x-fanfare-own';

/**
 * Tells requests that this process makes of its own service from those of callers, by a secret that no other process has.
 * They are no callers' requests and do not count as such (http/request/request-bounds.ts).
 */
export class OwnRequests {
  private readonly secret = randomBytes(32);
  readonly headers: Readonly<Record<string, string>> = { [HEADER]: this.secret.toString('base64url') };

  includes(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
    const { [HEADER]: value } = headers;
    if (typeof value !== 'string') return false;
    const given = Buffer.from(value, 'base64url');
    return given.length === this.secret.length && timingSafeEqual(given, this.secret);
  }
}
