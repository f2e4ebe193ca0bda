import type { Channel } from '../domain/channel';
import type { MessageEvent } from '../domain/message';
import type { MessageStory } from '../domain/message-history';
import type { SendingFinding, SendingQuestion } from '../domain/sending-question';
import type { CallOptions } from '../domain/voice/call-options';

/**
 * The messaging service as campaigns use it: over HTTP, even when both run in one process. The service reports
 * its additions to the specification with its token (`capabilities`). For a service that reports none, only the
 * specification's endpoints and fields are used.
 */
export interface Gateway {
  /** Fetches a token if there is none, and returns what the service can do. */
  capabilities(): Promise<ReadonlySet<Capability>>;
  findTemplate(channel: Channel, templateId: string, version: number): Promise<TemplateInfo | undefined>;
  /** What the service's carriers cannot do of such messages; nothing at a service without `checks`. */
  checkSending(messages: SendingQuestion): Promise<SendingFinding[]>;
  /**
   * Sends one message or many. Returns one result each, in order, and never throws because of a message. Where
   * messages go in single requests, none leaves after `stopped`; messages not sent by then get `later`.
   */
  send(messages: readonly OutgoingMessage[], stopped?: AbortSignal): Promise<SendAnswer[]>;
  /** How much the service's outbox takes now. A service that reports nothing about it takes everything. */
  readonly room: Room;
  /** Needs `events`. Waits up to `waitSeconds` for new events. */
  readEvents(
    after: string,
    limit: number,
    waitSeconds: number,
  ): Promise<{ events: MessageEvent[]; next: string }>;
  /** Needs `stories`. Stories of those messages that the service has, in no order. */
  stories(uids: readonly string[]): Promise<MessageStory[]>;
  /** Needs `holds` and `stories`; false at a service of an earlier version, which cannot be asked. */
  isHeld(campaign: string): Promise<boolean>;
  /** Needs `holds`. */
  hold(campaign: string): Promise<void>;
  release(campaign: string): Promise<void>;
  /** Needs `stories`. Uids of some messages with this tag that were not handed over yet; none when there are none. */
  waitingOf(campaign: string): Promise<string[]>;
  /** Needs `holds`. `late`: handed over already; `absent`: the service never had it. */
  cancel(uid: string): Promise<CancelAnswer>;
  close(): Promise<void>;
}

export type CancelAnswer = 'canceled' | 'late' | 'absent';

export type Capability = 'bulk' | 'checks' | 'events' | 'holds' | 'idempotent' | 'stories';

export interface TemplateInfo {
  name: string;
  version: number;
  placeholders: string[];
  /** The text of an SMS, the document of a call. */
  text?: string | undefined;
}

export interface OutgoingMessage {
  uid: string;
  channel: Channel;
  to: string;
  from: string;
  /** Without a template, an email brings its own subject and body. */
  templateId?: string | undefined;
  version?: number | undefined;
  params: Record<string, string | number>;
  campaign?: string | undefined;
  class?: string | undefined;
  subject?: string | undefined;
  body?: string | undefined;
  replyTo?: string | undefined;
  /** After this time the service no longer hands the message to a provider. Sent only to services of our kind. */
  expiresAt?: string | undefined;
  /** Options of a call. Sent only to services of our kind. */
  voice?: CallOptions | undefined;
}

export type SendAnswer =
  /** The service has the message, now or from before. */
  | { kind: 'accepted' }
  | { kind: 'suppressed' }
  | { kind: 'rejected'; code: string }
  /** Not accepted; the same message may be sent again after the delay. */
  | { kind: 'later'; code: string; retryAfterMs: number; because: WhyLater }
  /** Credentials or quota: no message is accepted until a person acts. */
  | { kind: 'account'; code: string }
  /** Sent, and the answer was lost. */
  | { kind: 'unknown' };

/**
 * `refused`: the service refused this message temporarily. `throttled`: the service asked for a lower rate.
 * `down`: the message was not looked at, because the service was not reached or refused the whole request.
 */
export type WhyLater = 'refused' | 'throttled' | 'down';

export interface LotDemand {
  campaign: string;
  run: string;
  most: number;
  /** How many messages of the run the outbox has, as far as is known. It is asked only while there is no room. */
  countInOutbox(): Promise<number>;
  /** Ends the wait. */
  signal: AbortSignal;
}

export interface Lot {
  readonly count: number;
  /** Call it when the lot is answered, or will not be offered. Calling it again changes nothing. */
  end(): void;
}

/** What has room of its own: messages of a class on one channel. */
export type RoomKind = `${string}_${Channel}`;

/** Room in the service's outbox for messages of campaigns (outbox-room.ts). */
export interface Room {
  /** Reserves room for at most this many messages of a class on one channel; undefined when the signal ends the wait. */
  take(kind: RoomKind, demand: LotDemand): Promise<Lot | undefined>;
  /** How long a page without room should give its worker to others, in milliseconds. */
  restMs(): number;
}
