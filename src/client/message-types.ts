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
  /** SMS only. */
  segments?: number;
  encoding?: 'gsm7' | 'ucs2';
  sendAt?: string;
  /** Accepted before; nothing is sent again. */
  duplicate: boolean;
}

export interface MessageRecord {
  id: string;
  uid: string;
  channel: Channel;
  /** Null once the person was erased. */
  to: string | null;
  from: string;
  'template-id'?: string;
  version?: number;
  subject?: string;
  params: Params;
  campaign?: string;
  class: 'marketing' | 'transactional';
  replyTo?: string;
  voice?: CallOptions;
  segments?: number;
  encoding?: 'gsm7' | 'ucs2';
  state: MessageState;
  code?: string;
  provider?: string;
  providerId?: string;
  attempt: number;
  sendAt?: string;
  expiresAt?: string;
  createdAt: string;
  updatedAt: string;
}

export interface MessageEvent {
  seq: number;
  at: string;
  uid: string;
  id: string;
  channel: Channel;
  campaign?: string;
  type: string;
  /** State of the message after this event. */
  state: MessageState;
  code?: string;
  provider?: string;
  attempt?: number;
  /** What the carrier reported besides. */
  data?: Record<string, unknown>;
}

/** A message with what happened to it, in order. */
export type TrackedMessage = MessageRecord & {
  events: MessageEvent[];
  /** Set while the whole workspace is stopped. */
  stopped: Stop | null;
};

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
