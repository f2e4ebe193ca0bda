import type { Channel } from '../domain/channel';
import type { ReceiptType } from '../domain/message';
import type { CallOptions } from '../domain/voice/call-options';

/**
 * What the outbox needs of a carrier of messages: a mail relay, an SMS centre, a
 * telephone exchange, or the simulator. Every implementation passes test/providers/conformance.ts.
 */
export interface Provider {
  /** Stored with each message it took; stable across restarts. */
  readonly name: string;
  readonly channel: Channel;
  readonly capabilities: {
    /** Handing over the same message id again does not deliver it twice. */
    idempotent: boolean;
    /** Reports what became of a message; without it `sent` is the last that is ever known. */
    receipts: boolean;
    /** Most messages one `handOver` takes. */
    batchMax: number;
    /** Messages that are with the carrier at the same time; further ones wait for the answers of those. */
    parallel: number;
    /** It takes messages one by one and answers each as soon as it knows; otherwise a batch is answered together. */
    answersEach?: boolean;
  };
  /**
   * Begins delivering receipts to `sink`, which may be called again with the same ones until it resolves, and
   * what subscribers write to `inbound`, for which the same holds.
   */
  start(sink: ReceiptSink, inbound?: InboundSink): Promise<void>;
  /**
   * Gives messages to the provider; answers one result each, in order, and never throws for a single
   * message's sake. Whatever cannot be known is `unknown`. `mayLeave` is called for each message right before
   * the carrier gets it (`carrierBeginMs` before at most), however long it waited for its turn.
   */
  handOver(messages: readonly HandOver[], mayLeave?: MayLeave): Promise<HandOverResult[]>;
  /**
   * Ids at the carrier that may be the message's: all that match it. Only where a carrier can be asked; the caller knows
   * which of them belong to other messages.
   */
  lookUp?(message: InDoubt): Promise<LookUpResult>;
  /** Takes back what the carrier has not sent yet, or a call that was not answered yet; what comes of it is a receipt. */
  withdraw?(providerId: string): Promise<void>;
  close(): Promise<void>;
}

/** Cheap, and answered at once: its tag may have been held since the batch was opened, or its time be over. */
export type MayLeave = (message: HandOver) => boolean;

export const anyMayLeave: MayLeave = () => true;

export type ReceiptSink = (receipts: Receipt[]) => Promise<void>;

/** Resolves when they are stored, with all that follows from them; rejected, it is to be called again. */
export type InboundSink = (messages: readonly InboundSms[]) => Promise<void>;

/** An SMS from a subscriber. */
export interface InboundSms {
  /** The carrier's id: reported twice, it is one message. */
  id: string;
  from: string;
  /** The sender that was answered. */
  to: string;
  text: string;
  /** ISO 8601. */
  at?: string | undefined;
  /** The carrier took it for this keyword itself, and has answered the subscriber. */
  handledAs?: 'stop' | 'start' | 'help' | undefined;
}

/** A rendered message on its way out (api.md 12). */
export interface HandOver {
  id: string;
  uid: string;
  /** Whose it is, for what is kept apart by workspace; carriers do not get it. */
  workspaceId?: string | undefined;
  channel: Channel;
  to: string;
  from: string;
  subject?: string | undefined;
  html?: string | undefined;
  text?: string | undefined;
  headers?: Record<string, string> | undefined;
  xml?: string | undefined;
  flow?: Record<string, unknown> | undefined;
  /** How the call is to be made, as far as its sender said. */
  voice?: CallOptions | undefined;
  campaign?: string | undefined;
  /** ISO 8601: the carrier should not deliver it afterwards, as far as it has a field for that. */
  expiresAt?: string | undefined;
  /** 1 for the first hand-over. */
  attempt: number;
}

export type HandOverResult =
  | { kind: 'accepted'; providerId: string; data?: Record<string, unknown> | undefined }
  /** Permanent: this message will never be taken. */
  | { kind: 'rejected'; code: string; message: string }
  /**
   * Not taken this time; counts as an attempt. `unreached`: there was never a connection, so that nothing of it left. `inDoubt`:
   * the answer was lost of an idempotent carrier, which is given the message again and may have taken it.
   */
  | {
      kind: 'transient';
      code: string;
      retryAfterMs?: number | undefined;
      unreached?: true | undefined;
      inDoubt?: true | undefined;
      fault?: Fault | undefined;
    }
  /**
   * Not taken, try later; does not count as an attempt. Without `scope` it may be about this sender or about
   * us; `message` is about no other, as when only the recipient's host has had enough.
   */
  | { kind: 'throttled'; retryAfterMs: number; scope?: 'message' | 'sender' | undefined }
  /**
   * The carrier refuses our account or address: no message is taken until a person acts, and this one is not spent.
   * With `orRecipient` the answer would be the same if only this recipient did not exist. `retryAfterMs` says when
   * the message is to be tried again; the dispatcher sets it.
   */
  | {
      kind: 'account';
      code: string;
      message: string;
      orRecipient?: true | undefined;
      retryAfterMs?: number | undefined;
    }
  /**
   * The carrier refuses this sender at this account, and takes others: its messages wait, and this one is not spent. The
   * dispatcher sets `retryAfterMs`.
   */
  | { kind: 'sender'; code: string; message: string; retryAfterMs?: number | undefined }
  /** Not given to the carrier, because it was not to leave any more, or because the account has no room for `pauseMs`. */
  | { kind: 'stayed'; pauseMs?: number | undefined }
  /** It may or may not have been taken. */
  | { kind: 'unknown'; fault?: Fault | undefined };

/** Our own failure on the way to the carrier, for the log: without the error's text, which may name an address or a key. */
export interface Fault {
  name: string;
  code?: string;
  /** Where it happened, in our code. */
  at?: string;
}

/** A message whose answer was lost, as a carrier may be asked about it. */
export interface InDoubt {
  id: string;
  to: string;
  from: string;
  text: string | undefined;
  /** When it was handed over, at the earliest and at the latest. */
  sinceMs: number;
  untilMs: number;
}

/**
 * What a look says of a message in doubt: `found` for a single one that can be meant. Anything else leaves the doubt,
 * because a carrier lists late.
 */
export type LookUpResult =
  | { kind: 'found'; providerIds: readonly string[] }
  | { kind: 'none' }
  | { kind: 'failed' };

/** What became of a message, named by either id. */
export interface Receipt {
  id?: string | undefined;
  providerId?: string | undefined;
  type: ReceiptType;
  code?: string | undefined;
  /** ISO 8601. */
  at?: string | undefined;
  data?: Record<string, unknown> | undefined;
  /** With a `providerId` that may be unknown: the recipient that the carrier names. */
  about?: { to: string; from: string; reference?: number | undefined } | undefined;
}
