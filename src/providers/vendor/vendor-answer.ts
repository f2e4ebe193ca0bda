import type { VendorKind } from '../../domain/account';
import { parseRetryAfter, throttled } from '../http-answer';
import type { HttpAnswer, NoAnswer } from '../http-exchange';
import type { HandOverResult } from '../provider';
import { type ErrorClass, errorClass } from './error-class';
import { UNREADABLE } from './json-client';

/** A vendor's answer as its adapter reads it. */
export type VendorWord =
  | { kind: 'taken'; providerId: string; data?: Record<string, unknown> | undefined }
  /** An error in the vendor's own form. */
  | { kind: 'refused'; code?: string | undefined; message?: string | undefined }
  /** The answer came from a proxy between the vendor and us, so that it does not tell what the vendor did. */
  | { kind: 'not_the_vendor' };

/**
 * What the answer to a create means. No vendor knows a message that it is given again, so that whatever leaves room for
 * doubt is `unknown`: 500, 502 and 504, and an answer that is not in the vendor's own form. A code that is known decides
 * before the status does.
 */
export function resultOfAnswer(
  kind: VendorKind,
  answer: HttpAnswer | NoAnswer,
  read: (answer: HttpAnswer) => VendorWord,
): HandOverResult {
  if (!('status' in answer)) {
    if (answer === UNREADABLE) {
      return {
        kind: 'account',
        code: answer.code,
        message: 'The key or password of the account cannot be read',
      };
    }
    const { code, offered, stayed, fault } = answer;
    if (stayed) return { kind: 'stayed' };
    return offered ? { kind: 'unknown', fault } : { kind: 'transient', code, unreached: true, fault };
  }
  const { status, retryAfter } = answer;
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now());
  const word = read(answer);
  if (word.kind === 'taken') return { kind: 'accepted', providerId: word.providerId, data: word.data };
  const said = word.kind === 'refused' && word.code !== undefined ? errorClass(kind, word.code) : undefined;
  // Vendors refuse before they look at the message (Twilio says so), so that the words matter only where asking again soon is
  // in vain: an account that has had its messages of the day takes none for hours.
  if (status === 429 && said !== 'daily') return throttled(retryAfterMs);
  if (word.kind === 'not_the_vendor' || LOST.has(status)) return { kind: 'unknown' };
  const code = word.code ?? `${kind}_${status}`;
  const message = word.message ?? `${kind} answered ${status}`;
  switch (said ?? classOf(status)) {
    case 'throttled':
      return throttled(retryAfterMs);
    case 'transient':
      return { kind: 'transient', code, retryAfterMs };
    case 'account':
    case 'daily':
      return { kind: 'account', code, message };
    case 'sender':
      return { kind: 'sender', code, message };
    case 'unknown':
      return { kind: 'unknown' };
    default:
      return { kind: 'rejected', code, message };
  }
}

const LOST: ReadonlySet<number> = new Set([500, 502, 504]);
/** For an error without a known code. */
function classOf(status: number): ErrorClass {
  if (status >= 401 && status <= 404) return 'account';
  if (status === 408 || status === 425 || status === 503) return 'transient';
  return status >= 400 && status < 500 ? 'permanent' : 'unknown';
}

/** A JSON object; `undefined` for anything else, which is not the vendor's. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A text or a number as a text; codes come as both. */
export function wordIn(value: unknown, charsMax = 200): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).slice(0, charsMax);
  return text === '' ? undefined : text;
}
