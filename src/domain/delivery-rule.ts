import { type ErrorCode, retryClassOf } from './errors';
import { nextAttempt, type RetryPolicy, retryPolicy } from './retry-policy';

/** What a campaign's `delivery` says about recipients that did not go through at once (api.md 7). */
export interface DeliveryRule {
  policy: RetryPolicy;
  /** Whether a message that the service took and could not deliver is sent anew: only when asked for. */
  retriesFailed: boolean;
  /** Whether a message whose fate is unknown is sent anew, and may so reach somebody twice. */
  resends: boolean;
  expireAfterMs: number | undefined;
  /** For everybody: the end of a campaign that happens once, in milliseconds of the epoch. */
  endsAtMs: number | undefined;
}

export function deliveryRule({
  delivery = {},
  schedule = {},
}: {
  delivery?:
    | {
        retry?: Partial<RetryPolicy> | undefined;
        onUnknown?: 'hold' | 'resend' | undefined;
        expireAfterSeconds?: number | undefined;
      }
    | undefined;
  schedule?: { endAt?: string | undefined; cron?: string | undefined } | undefined;
} = {}): DeliveryRule {
  const { retry, onUnknown, expireAfterSeconds } = delivery;
  // With cron it is the end of what begins, and what has begun goes on.
  const endAt = schedule.cron === undefined ? schedule.endAt : undefined;
  return {
    policy: retryPolicy(retry),
    retriesFailed: retry !== undefined,
    resends: onUnknown === 'resend',
    expireAfterMs: expireAfterSeconds === undefined ? undefined : expireAfterSeconds * 1000,
    endsAtMs: endAt === undefined ? undefined : Date.parse(endAt),
  };
}

/** When it is too late for a recipient, in milliseconds of the epoch; its own time counts from when it was due. */
export function expiryOf(rule: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'>, dueAt: Date): number {
  const { expireAfterMs = Number.POSITIVE_INFINITY, endsAtMs = Number.POSITIVE_INFINITY } = rule;
  return Math.min(dueAt.getTime() + expireAfterMs, endsAtMs);
}

/** A recipient after an attempt; `attempts` includes it, `uid` is its message's. */
export interface Tried {
  uid: string;
  attempts: number;
  dueAt: Date;
}

export type Next =
  | { state: 'waiting'; retryAt: Date; code: string | undefined }
  | { state: 'failed' | 'expired' | 'unknown'; code: ErrorCode };

/** After an attempt that failed for the moment. `atLeastMs` is what the other side asked to wait. */
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

/** After an attempt of which nobody knows what became. */
export function afterDoubt(rule: DeliveryRule, tried: Tried, nowMs: number): Next {
  const delay = rule.resends ? nextAttempt(rule.policy, tried.attempts, tried.uid) : undefined;
  const retryAtMs = delay === undefined ? Number.POSITIVE_INFINITY : nowMs + delay * 1000;
  if (delay === undefined || retryAtMs > expiryOf(rule, tried.dueAt)) {
    return { state: 'unknown', code: 'answer_lost' };
  }
  return { state: 'waiting', retryAt: new Date(retryAtMs), code: 'answer_lost' };
}

/** A wait that would last beyond the recipient's time ends it at once. */
export function waitUntil(
  rule: DeliveryRule,
  { dueAt }: Pick<Tried, 'dueAt'>,
  retryAtMs: number,
  code: string | undefined,
): Next {
  if (retryAtMs > expiryOf(rule, dueAt)) return { state: 'expired', code: 'expired' };
  return { state: 'waiting', retryAt: new Date(retryAtMs), code };
}

/** Whether a message failed of what passes: its code's class says so, or the service's own attempts ran out. */
export function failedForTheMoment(code: string | undefined): boolean {
  return retryClassOf(code) === 'transient' || code === ('attempts_exhausted' satisfies ErrorCode);
}
