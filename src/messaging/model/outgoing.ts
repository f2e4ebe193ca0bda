import type { Message } from '../../contracts/send';
import type { Channel } from '../../domain/channel';
import type { DomainError } from '../../domain/errors';
import type { CallOptions } from '../../domain/voice/call-options';

/** An accepted message as the dispatcher holds it in memory, until it is with a provider. */
export interface OutgoingMessage {
  readonly id: string;
  readonly workspaceId: string;
  readonly uid: string;
  readonly channel: Channel;
  readonly to: string;
  readonly from: string;
  readonly templateId: string | undefined;
  readonly templateVersion: number | undefined;
  readonly subject: string | undefined;
  readonly body: string | undefined;
  readonly params: Readonly<Record<string, string | number>>;
  readonly campaign: string | undefined;
  readonly class: Message['class'];
  readonly replyTo: string | undefined;
  /** Calls only. */
  readonly voice: CallOptions | undefined;
  readonly expiresAtMs: number | undefined;
  /** Known where the message was read from the table, perhaps before its time. */
  readonly dueMs?: number | undefined;
  /** What it takes of a sender's rate; SMS only. */
  readonly segments: number | undefined;
  /** What the workspace's policy adds at the end; SMS only. */
  readonly suffix?: string | undefined;
  /** The message confirms an opt-out, so that no stop of the workspace keeps it back. */
  readonly confirmsOptOut?: true | undefined;
  /** Where it waits for its turn (queue/flow.ts). */
  readonly flow: number;
  /** Hand-overs that counted so far. */
  readonly attempt: number;
  /** What the last of them ended with, and why it waits. */
  readonly lastCode?: string | undefined;
  /**
   * The provider that may have got something of it: one that answered an attempt without a certain end, or that a process
   * was handing it over to when it ended. No failover takes it elsewhere.
   */
  readonly boundTo?: string | undefined;
  /**
   * That provider is idempotent, and may have taken it: the answer was lost, or its process ended. It is offered again; if it
   * ends before an answer comes, its end is `unknown`.
   */
  readonly inDoubt?: true | undefined;
  /** Bytes of content, roughly: what queues are bounded by. */
  readonly size: number;
}

/** What is added at the end of an SMS, and what the whole then takes. */
export interface Suffix {
  text: string;
  segments: number;
  encoding: string;
  /** Only when no message to the number had it yet (opt-out-notices.ts). */
  onlyFirst: boolean;
}

/** A message that passed every check and waits for its insert. */
export interface Draft extends OutgoingMessage {
  readonly paramsJson: string;
  readonly payloadHash: string;
  readonly encoding: string | undefined;
  readonly state: 'accepted' | 'scheduled';
  readonly sendAt: string | undefined;
  readonly expiresAt: string | undefined;
  /** Text that is added if the recipient does not know yet how to opt out. */
  readonly ending?: Suffix | undefined;
  /** By the policy; nothing is written then, and only what was there before is answered for. */
  readonly refusal?: DomainError | undefined;
}

/** The answer to a message that was taken on, now or before. */
export interface Accepted {
  id: string;
  uid: string;
  channel: Channel;
  to: string;
  state: string;
  segments?: number | undefined;
  encoding?: string | undefined;
  sendAt?: string | undefined;
  duplicate: boolean;
}

/**
 * The result of one of several items. Each item is processed alone, so that an error concerns one item only.
 */
export type Outcome<Answer> = { ok: true; answer: Answer } | { ok: false; error: unknown };
