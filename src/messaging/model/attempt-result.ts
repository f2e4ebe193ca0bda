import { ANSWER_LOST } from '../../domain/errors';
import { handoverWaitMs } from '../../domain/handover-wait';
import { LIMITS } from '../../domain/limits';
import type { MessageState } from '../../domain/message';
import type { HandOverResult } from '../../providers/provider';
import type { OutgoingMessage } from './outgoing';
import { storable } from './storable-text';

/** What a hand-over means for its message. */
export interface AttemptResult {
  message: OutgoingMessage;
  state: MessageState;
  code?: string | undefined;
  providerId?: string | undefined;
  /** Hand-overs that counted, this one included if it did. */
  attempt: number;
  /** Stays accepted, and is tried again then. */
  retryAtMs?: number | undefined;
  /** Keeps its place among those that wait: it was not tried. */
  keepsPlace?: boolean | undefined;
  data?: Record<string, unknown> | undefined;
  /** It waits, and may have been taken. */
  inDoubt?: true | undefined;
  /** When the provider answered, ISO; none for what never left. Results are recorded up to `LIMITS.recordLingerMs` later. */
  at?: string | undefined;
}

/** `random` in [0, 1): retries of one outage must not all come back at the same moment. */
export function toAttemptResult(
  message: OutgoingMessage,
  result: HandOverResult,
  nowMs: number,
  random: number,
): AttemptResult {
  const attempt = message.attempt + 1;
  switch (result.kind) {
    case 'accepted':
      return { message, state: 'sent', attempt, providerId: storable(result.providerId), data: result.data };
    case 'rejected': {
      const data = { message: storable(result.message) };
      return { message, state: 'rejected', attempt, code: storable(result.code), data };
    }
    case 'unknown':
      return { message, state: 'unknown', attempt, code: ANSWER_LOST };
    case 'stayed': {
      const { lastCode: code } = message;
      const waiting = { retryAtMs: nowMs, keepsPlace: true, inDoubt: message.inDoubt };
      return { message, state: 'accepted', attempt: message.attempt, code, ...waiting };
    }
    case 'transient': {
      const code = storable(result.code);
      const inDoubt = result.inDoubt ?? message.inDoubt;
      if (attempt >= LIMITS.handoverAttempts) {
        if (inDoubt) return { message, state: 'unknown', attempt, code: ANSWER_LOST };
        return { message, state: 'failed', attempt, code: 'attempts_exhausted', data: { lastCode: code } };
      }
      const retryAtMs = inTime(message, nowMs + (result.retryAfterMs ?? backoffMs(attempt, random)));
      return { message, state: 'accepted', attempt, code, retryAtMs, inDoubt };
    }
    case 'sender': {
      const delayMs = (result.retryAfterMs ?? LIMITS.senderRefusedMs) * (1 + random / 10);
      const retryAtMs = inTime(message, nowMs + delayMs);
      return waiting(message, storable(result.code), retryAtMs);
    }
    case 'throttled': {
      // Spread over half as long again, since all that were throttled were given the same delay.
      const delayMs = result.retryAfterMs * (1 + random / 2);
      return waiting(message, 'provider_throttled', inTime(message, nowMs + delayMs));
    }
    case 'account': {
      const delayMs = (result.retryAfterMs ?? LIMITS.accountPauseMs) * (1 + random / 10);
      const retryAtMs = inTime(message, nowMs + delayMs);
      return waiting(message, 'provider_account', retryAtMs);
    }
  }
}

/** No attempt was counted. */
const waiting = (message: OutgoingMessage, code: string | undefined, retryAtMs: number): AttemptResult => ({
  ...{ message, state: 'accepted', attempt: message.attempt, code, retryAtMs },
  inDoubt: message.inDoubt,
});

/** A message in doubt that ends for another reason than its provider's answer: nothing says that it was not taken. */
export function unlessInDoubt(attemptResult: AttemptResult): AttemptResult {
  const { message, attempt } = attemptResult;
  return message.inDoubt ? { message, state: 'unknown', attempt, code: ANSWER_LOST } : attemptResult;
}

/** One whose next try would come too late is looked at as soon as it is too late, and then expires. */
function inTime({ expiresAtMs }: OutgoingMessage, retryAtMs: number): number {
  return expiresAtMs === undefined ? retryAtMs : Math.min(retryAtMs, expiresAtMs + 1);
}

const backoffMs = (attempt: number, random: number): number => handoverWaitMs(attempt) * (0.5 + random / 2);
