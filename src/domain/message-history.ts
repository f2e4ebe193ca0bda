import type { Channel } from './channel';
import type { MessageState } from './message';

/** Why a message is not with a carrier yet, according to the service that has it. */
export const MESSAGE_WAITS = ['hold', 'schedule', 'account', 'retry', 'outbox'] as const;
export type MessageWait = (typeof MESSAGE_WAITS)[number];

/**
 * What a service reports about one message to a caller who must explain it: what was sent, through which
 * account, what became of it, and what it waits for. It has neither the recipient's address nor the params,
 * because the caller has both.
 */
export interface MessageStory {
  uid: string;
  channel: Channel;
  state: MessageState;
  code?: string | undefined;
  /** The account it was handed over through, and the carrier's id for it. */
  account?: string | undefined;
  providerId?: string | undefined;
  templateId?: string | undefined;
  version?: number | undefined;
  segments?: number | undefined;
  encoding?: string | undefined;
  /** Number of hand-overs so far, and the number after which the service gives up. */
  attempt: number;
  attemptsMax: number;
  updatedAt: string;
  /** Oldest first. */
  events: StoryEvent[];
  /** Null when the message is with a carrier, or has ended. */
  waits: { why: MessageWait; at?: string | undefined; code?: string | undefined } | null;
  /** The suppression entry that kept the message back. */
  suppression?: SuppressionEvidence | undefined;
}

export interface StoryEvent {
  at: string;
  type: string;
  state: MessageState;
  code?: string | undefined;
  /** Number of hand-overs at that time; absent for events before the first one. */
  attempt?: number | undefined;
  data?: Record<string, unknown> | undefined;
}

/** An entry of the suppression list, without the address. */
export interface SuppressionEvidence {
  channel: string;
  /** Empty for every sender of the workspace. */
  sender: string;
  reason: string;
  source: string;
  since: string;
}
