import type { Channel } from './channel';
import type { MessageState } from './message';

/** Why a message is not with a carrier yet, as the service that has it tells. */
export const MESSAGE_WAITS = ['hold', 'schedule', 'account', 'retry', 'outbox'] as const;
export type MessageWait = (typeof MESSAGE_WAITS)[number];

/**
 * What a service tells of one message to a caller who must explain it: what was sent, through whom, what became of it,
 * and what it waits for. Neither the recipient's address nor the params are in it, because the caller has both.
 */
export interface MessageStory {
  uid: string;
  channel: Channel;
  state: MessageState;
  code?: string | undefined;
  /** Through which account it was handed over, and the carrier's id for it. */
  account?: string | undefined;
  providerId?: string | undefined;
  templateId?: string | undefined;
  version?: number | undefined;
  segments?: number | undefined;
  encoding?: string | undefined;
  /** Hand-overs so far, and after how many the service gives up. */
  attempt: number;
  attemptsMax: number;
  updatedAt: string;
  /** Oldest first. */
  events: StoryEvent[];
  /** Null when it is with a carrier, or at its end. */
  waits: { why: MessageWait; at?: string | undefined; code?: string | undefined } | null;
  /** The entry of the suppression list that kept it back. */
  suppression?: SuppressionEvidence | undefined;
}

export interface StoryEvent {
  at: string;
  type: string;
  state: MessageState;
  code?: string | undefined;
  /** Hand-overs by then; absent for what happened before the first one. */
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
