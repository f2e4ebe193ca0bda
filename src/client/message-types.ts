import type { Channel } from '../domain/channel';
import type { MessageState } from '../domain/message';
import type { RecipientState } from '../domain/recipient';
import type { Params, Redials, Retry, Stop, Window } from './types';

export type { MessageState };

/** What is sent outside campaigns: single messages, and sends that Temporal keeps alive. */
export interface Message {
  channel: Channel;
  /** Chosen by you: the same uid is the same message. */
  uid: string;
  to: string;
  from: string;
  'template-id'?: string;
  version?: number;
  params?: Params;
  /** Email only. */
  subject?: string;
  body?: string;
  replyTo?: string;
  sendAt?: string;
  expiresAt?: string;
  campaign?: string;
  class?: 'marketing' | 'transactional';
  /** Calls only. */
  voice?: CallOptions;
}

export interface CallOptions {
  machine?: 'speak' | 'hangup' | 'leave_message';
  ringTimeoutSeconds?: number;
  maxSeconds?: number;
}

export type DurableMessage = Message & { retry?: Retry; window?: Window; voice?: Redials };

export interface AcceptedMessage {
  id: string;
  uid: string;
  channel: Channel;
  to: string;
  state: MessageState;
  duplicate: boolean;
}

export interface TrackedMessage {
  id: string;
  uid: string;
  channel: Channel;
  state: MessageState;
  code?: string;
  attempt: number;
  events: { type: string; state: MessageState; at: string; code?: string; data?: Record<string, unknown> }[];
  /** Set while the whole workspace is stopped. */
  stopped: Stop | null;
}

export interface DurableSend {
  id: string;
  uid: string;
  workflowId: string;
  channel: Channel;
  state: RecipientState;
  outcome: string | null;
  code: string | null;
  messageUid: string | null;
  attempts: number;
  cancelRequested: boolean;
  dueAt: string | null;
  createdAt: string;
  startedAt: string | null;
  acceptedAt: string | null;
  sentAt: string | null;
  finishedAt: string | null;
  updatedAt: string;
  stopped: Stop | null;
}
