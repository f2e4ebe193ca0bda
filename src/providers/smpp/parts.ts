import type { InboundSink, Receipt } from '../provider';

/**
 * What outlives the process about messages that went out in several parts: which parts they have, and what
 * each one's receipt said. Stored by src/messaging/receipts/sms-parts.ts; decision 17
 * says why a provider cannot do without.
 */
export interface SmsParts {
  /** Called before the message is answered for. Repeating it changes nothing. */
  record(messages: readonly SentMessage[]): Promise<void>;
  /**
   * What these receipts come to: one of a whole message when its parts have said enough, and those of
   * messages that are one part. Telling one again gives the same again.
   */
  resolve(receipts: readonly PartReceipt[]): Promise<Receipt[]>;
  /** Passes receipts that came before their parts were recorded to `tell`. */
  takeEarly(tell: (receipts: Receipt[]) => Promise<void>): Promise<void>;
  /**
   * Gives `tell` what has come of receipts whose ids were never stored, as far as it is clear whose they are. With
   * `asOnePart` every message has one receipt, however long it is.
   */
  settleLost(tell: (receipts: Receipt[]) => Promise<void>, options: { asOnePart: boolean }): Promise<void>;
}

/**
 * Parts of subscribers' messages that are acknowledged to the centre before the others came. Stored by
 * src/messaging/inbound/inbound-parts.ts, because the centre does not send them again to the process after a killed one.
 */
export interface InboundParts {
  keep(parts: readonly JoinedPart[]): Promise<void>;
  /** Passes the messages to `take` that are complete, or that are to wait for the rest no longer. */
  takeWhole(take: InboundSink): Promise<void>;
}

/** One of several parts of what a subscriber wrote. */
export interface JoinedPart {
  from: string;
  to: string;
  text: string;
  joined: { reference: number; total: number; number: number };
}

export interface SentMessage {
  id: string;
  /** How many there are, of which the ids of some may not be known. */
  parts: number;
  partIds: readonly string[];
}

export interface PartReceipt {
  /** What the part may be called, the likeliest first; of one that is `known`, just its id. */
  candidates: readonly string[];
  known: { messageId: string; parts: number } | undefined;
  /** Reported of the message, whichever it is. */
  receipt: Pick<Receipt, 'type' | 'code' | 'data'>;
  /** Finds it when its id is unknown. */
  about?: Receipt['about'];
}
