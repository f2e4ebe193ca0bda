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
      return { message, state: 'unknown', attempt, code: 'answer_lost' };
    case 'stayed': {
      const { lastCode: code } = message;
      return {
        message,
        state: 'accepted',
        attempt: message.attempt,
        code,
        retryAtMs: nowMs,
        keepsPlace: true,
      };
    }
    case 'transient': {
      const code = storable(result.code);
      if (attempt >= LIMITS.handoverAttempts) {
        return { message, state: 'failed', attempt, code: 'attempts_exhausted', data: { lastCode: code } };
      }
      const delayMs = result.retryAfterMs ?? backoffMs(attempt, random);
      return { message, state: 'accepted', attempt, code, retryAtMs: inTime(message, nowMs + delayMs) };
    }
    case 'sender': {
      const delayMs = (result.retryAfterMs ?? LIMITS.senderRefusedMs) * (1 + random / 10);
      const retryAtMs = inTime(message, nowMs + delayMs);
      return { message, state: 'accepted', attempt: message.attempt, code: storable(result.code), retryAtMs };
    }
    case 'throttled': {
      // Spread over half as long again, since all that were throttled were given the same delay.
      const delayMs = result.retryAfterMs * (1 + random / 2);
      return {
        message,
        state: 'accepted',
        attempt: message.attempt,
        code: 'provider_throttled',
        retryAtMs: inTime(message, nowMs + delayMs),
      };
    }
    case 'account': {
      const delayMs = (result.retryAfterMs ?? LIMITS.accountPauseMs) * (1 + random / 10);
      const retryAtMs = inTime(message, nowMs + delayMs);
      return { message, state: 'accepted', attempt: message.attempt, code: 'provider_account', retryAtMs };
    }
  }
}

/** One whose next try would come too late is looked at as soon as it is too late, and then expires. */
function inTime({ expiresAtMs }: OutgoingMessage, retryAtMs: number): number {
  return expiresAtMs === undefined ? retryAtMs : Math.min(retryAtMs, expiresAtMs + 1);
}

const backoffMs = (attempt: number, random: number): number => handoverWaitMs(attempt) * (0.5 + random / 2);
