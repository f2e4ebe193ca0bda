import type { Channel } from '../domain/channel';
import type { MessageEvent } from '../domain/message';
import type { MessageStory } from '../domain/message-story';
import type { CallOptions } from '../domain/voice/call-options';

/**
 * The messaging service as the campaigns see it: over HTTP, also when both run in one process. What a
 * service can do beyond the specification it says with its token (`capabilities`); from one that says
 * nothing, only the specification's endpoints are called and only its fields are sent.
 */
export interface Gateway {
  /** Fetches a token if none is at hand, and answers what the service can do. */
  capabilities(): Promise<ReadonlySet<Capability>>;
  findTemplate(channel: Channel, templateId: string, version: number): Promise<TemplateInfo | undefined>;
  /**
   * One message or many; answers one result each, in order, and never throws for a message's sake. Where they go in
   * single requests, `isStopped` is asked right before each: what has not left by then is answered as `later`.
   */
  send(messages: readonly OutgoingMessage[], isStopped?: () => boolean): Promise<SendAnswer[]>;
  /** How much the service's outbox takes now; a service that says nothing of it takes everything. */
  readonly room: Room;
  /** Needs `events`. Waits up to `waitSeconds` for something new. */
  readEvents(
    after: string,
    limit: number,
    waitSeconds: number,
  ): Promise<{ events: MessageEvent[]; next: string }>;
  /** Needs `stories`. Of those of these that the service has, in no order. */
  stories(uids: readonly string[]): Promise<MessageStory[]>;
  /** Needs `holds`. */
  hold(campaign: string): Promise<void>;
  release(campaign: string): Promise<void>;
  /** Needs `holds`. `late`: handed over already; `absent`: the service never had it. */
  cancel(uid: string): Promise<'canceled' | 'late' | 'absent'>;
  close(): Promise<void>;
}

export type Capability = 'bulk' | 'events' | 'holds' | 'idempotent' | 'stories';

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
  /** Without one, an email brings its own subject and body. */
  templateId?: string | undefined;
  version?: number | undefined;
  params: Record<string, string | number>;
  campaign?: string | undefined;
  class?: string | undefined;
  subject?: string | undefined;
  body?: string | undefined;
  replyTo?: string | undefined;
  /** After it the service no longer hands the message to a provider; told to services of our kind only. */
  expiresAt?: string | undefined;
  /** How a call is to be run; told to services of our kind only. */
  voice?: CallOptions | undefined;
}

export type SendAnswer =
  /** The service has it, now or from before. */
  | { kind: 'accepted' }
  | { kind: 'suppressed' }
  | { kind: 'rejected'; code: string }
  /** Not taken; the same may be sent again after the delay. */
  | { kind: 'later'; code: string; retryAfterMs: number; because: WhyLater }
  /** Credentials or quota: nobody's message is taken until a person acts. */
  | { kind: 'account'; code: string }
  /** Sent, answer lost. */
  | { kind: 'unknown' };

/**
 * `refused`: this message was looked at, and failed for the moment. `throttled`: less speed is asked for.
 * `down`: nobody looked at it, since the service was not reached or refused the whole request.
 */
export type WhyLater = 'refused' | 'throttled' | 'down';

export interface LotDemand {
  campaign: string;
  most: number;
  /** Ends the wait. */
  signal: AbortSignal;
}

export interface Lot {
  readonly count: number;
  /** The lot is answered for, or will not be offered. Calling it again changes nothing. */
  end(): void;
}

/** Room in the service's outbox for messages of campaigns (outbox-room.ts). */
export interface Room {
  /** A lot of at most so many messages of the class; undefined when the signal ends the wait. */
  take(kind: string, demand: LotDemand): Promise<Lot | undefined>;
  /** How long a page that found no room should leave its worker's place to others, in milliseconds. */
  restMs(): number;
}
