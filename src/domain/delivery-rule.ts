import { type ErrorCode, retryClassOf } from './errors';
import { nextAttempt, type RetryPolicy, retryPolicy } from './retry-policy';

/** The campaign's `delivery` options for recipients whose first attempt did not succeed (api.md 7). */
export interface DeliveryRule {
  policy: RetryPolicy;
  /**
   * Whether to send again when the service accepted a message and could not deliver it; only if the campaign
   * asks for it.
   */
  retriesFailed: boolean;
  /** Whether to send again when a message's outcome is unknown, which may send it twice. */
  resends: boolean;
  expireAfterMs: number | undefined;
  /** For all recipients: the end of a campaign without `cron`, in milliseconds since 1970. */
  endsAtMs: number | undefined;
}

/** What of a campaign's options the rule is read from. */
export interface DeliveryOptions {
  delivery?:
    | {
        retry?: Partial<RetryPolicy> | undefined;
        onUnknown?: 'hold' | 'resend' | undefined;
        expireAfterSeconds?: number | undefined;
      }
    | undefined;
  schedule?: { endAt?: string | undefined; cron?: string | undefined } | undefined;
}

export function deliveryRule({ delivery = {}, schedule = {} }: DeliveryOptions = {}): DeliveryRule {
  const { retry, onUnknown, expireAfterSeconds } = delivery;
  // With `cron`, it ends the schedule; occurrences that have begun continue.
  const endAt = schedule.cron === undefined ? schedule.endAt : undefined;
  return {
    policy: retryPolicy(retry),
    retriesFailed: retry !== undefined,
    resends: onUnknown === 'resend',
    expireAfterMs: expireAfterSeconds === undefined ? undefined : expireAfterSeconds * 1000,
    endsAtMs: endAt === undefined ? undefined : Date.parse(endAt),
  };
}

/** Whether recipients have a latest time at all. */
export const expires = ({
  expireAfterMs,
  endsAtMs,
}: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'>): boolean =>
  expireAfterMs !== undefined || endsAtMs !== undefined;

/**
 * A recipient's latest time, in milliseconds since 1970. The recipient's own period counts from when they were
 * due.
 */
export function expiryOf(rule: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'>, dueAt: Date): number {
  const { expireAfterMs = Number.POSITIVE_INFINITY, endsAtMs = Number.POSITIVE_INFINITY } = rule;
  return Math.min(dueAt.getTime() + expireAfterMs, endsAtMs);
}

/** A recipient after an attempt. `attempts` includes it; `uid` is its message's. */
export interface Tried {
  uid: string;
  attempts: number;
  dueAt: Date;
}

export type Next =
  | { state: 'waiting'; retryAt: Date; code: string | undefined }
  | { state: 'failed' | 'expired' | 'unknown'; code: ErrorCode };

/** The state after a temporary failure. `atLeastMs` is the wait that the service requested. */
export function afterFailure(
  rule: DeliveryRule,
  tried: Tried,
  nowMs: number,
  failure: { code: string | undefined; atLeastMs?: number },
): Next {
  const delay = nextAttempt(rule.policy, tried.attempts, tried.uid);
  if (delay === undefined) return { state: 'failed', code: 'attempts_exhausted' };
  const retryAtMs = nowMs + Math.max(delay * 1000, failure.atLeastMs ?? 0);
  return waitUntil(rule, tried, retryAtMs, failure.code);
}

/** The state after an attempt whose outcome is unknown. */
export function afterDoubt(rule: DeliveryRule, tried: Tried, nowMs: number): Next {
  const delay = rule.resends ? nextAttempt(rule.policy, tried.attempts, tried.uid) : undefined;
  const retryAtMs = delay === undefined ? Number.POSITIVE_INFINITY : nowMs + delay * 1000;
  if (delay === undefined || retryAtMs > expiryOf(rule, tried.dueAt)) {
    return { state: 'unknown', code: 'answer_lost' };
  }
  return { state: 'waiting', retryAt: new Date(retryAtMs), code: 'answer_lost' };
}

/** A wait that would last longer than the recipient's time expires them at once. */
export function waitUntil(
  rule: DeliveryRule,
  { dueAt }: Pick<Tried, 'dueAt'>,
  retryAtMs: number,
  code: string | undefined,
): Next {
  if (retryAtMs > expiryOf(rule, dueAt)) return { state: 'expired', code: 'expired' };
  return { state: 'waiting', retryAt: new Date(retryAtMs), code };
}

/**
 * Whether a message failed for a reason that passes: its code is transient, or the service used up its own
 * attempts.
 */
export function failedForTheMoment(code: string | undefined): boolean {
  return retryClassOf(code) === 'transient' || code === ('attempts_exhausted' satisfies ErrorCode);
}
