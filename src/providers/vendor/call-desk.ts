import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type { HandOver, Receipt } from '../provider';

/**
 * Where vendors' calls are kept while they last: what is said next is decided here, step by step, and a vendor's adapter
 * writes it in the vendor's own language.
 */
export interface CallDesk {
  /** Written down before the vendor is asked to call. Answers the token of the call's documents. */
  begin(message: HandOver, accountId: string): Promise<string>;
  /** The call was certainly not made. */
  drop(messageId: string): Promise<void>;
}

/** What a carrier tells of a call, in our words. */
export interface CallFacts {
  /** Our message's id, where the carrier tells it. */
  messageId?: string | undefined;
  providerId?: string | undefined;
  answeredBy?: AnsweredBy | undefined;
  /** The keys that were entered, where keys were asked for. */
  digits?: string | undefined;
  recording?: { reference: string; durationMs: number } | undefined;
  /** The call is over. */
  end?: Pick<Receipt, 'type' | 'code' | 'at' | 'data'> | undefined;
}
