/**
 * A message is one unit at the messaging service, keyed by `uid` within a workspace.
 *
 *   scheduled → accepted → sending → sent → delivered
 *
 * and the other ends. States move up in rank only: a late event of lower rank is recorded in the
 * message's history and changes nothing else. `sending` is never stored: a message is sending while an
 * open hand-over batch names it.
 */
export const MESSAGE_STATES = [
  'scheduled',
  'accepted',
  'sending',
  'sent',
  'delivered',
  'undelivered',
  'failed',
  'expired',
  'rejected',
  'suppressed',
  'canceled',
  'unknown',
] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

/**
 * `unknown` ranks below the other ends, because a late receipt replaces it with a certain end. `undelivered`
 * ranks below `delivered`, because some carriers send both, and `delivered` is then the later one. A hard bounce of an
 * email is the exception (messaging/receipts/receipt-change.ts).
 */
export const MESSAGE_RANK: Record<MessageState, number> = {
  scheduled: 0,
  accepted: 1,
  sending: 2,
  sent: 4,
  unknown: 5,
  undelivered: 6,
  failed: 6,
  expired: 6,
  rejected: 6,
  suppressed: 6,
  canceled: 6,
  delivered: 7,
};

/** Event types that a provider's receipt may carry, and the state each moves the message to (undefined: no move). */
export const RECEIPT_STATE: Record<ReceiptType, MessageState | undefined> = {
  sent: 'sent',
  delivered: 'delivered',
  undelivered: 'undelivered',
  failed: 'failed',
  expired: 'expired',
  rejected: 'rejected',
  ringing: undefined,
  answered: undefined,
  machine: undefined,
  human: undefined,
  digits: undefined,
  recording: undefined,
  completed: 'delivered',
  busy: 'undelivered',
  no_answer: 'undelivered',
  canceled: 'canceled',
};

export type ReceiptType =
  /** The carrier has it: ends a doubt and changes nothing else. Only providers of ours report it. */
  | 'sent'
  | 'delivered'
  | 'undelivered'
  | 'failed'
  | 'expired'
  | 'rejected'
  | 'ringing'
  | 'answered'
  | 'machine'
  | 'human'
  | 'digits'
  | 'recording'
  | 'completed'
  | 'busy'
  | 'no_answer'
  | 'canceled';

/** Every type of event in the feed: the states, what receipts report, and what subscribers write back. */
export const EVENT_TYPES = [
  ...new Set([...MESSAGE_STATES, ...(Object.keys(RECEIPT_STATE) as ReceiptType[]), 'inbound' as const]),
];

/** The receipts that end a call. */
export const CALL_ENDS = ['completed', 'busy', 'no_answer', 'failed', 'rejected', 'canceled'] as const;
export type CallEnd = (typeof CALL_ENDS)[number];

/** One entry of the event feed (api.md 4). `type` is a state name, or a call's progress. */
export interface MessageEvent {
  seq: number;
  at: string;
  uid: string;
  id: string;
  channel: 'email' | 'sms' | 'voice';
  campaign?: string | undefined;
  type: string;
  state: MessageState;
  code?: string | undefined;
  provider?: string | undefined;
  attempt?: number | undefined;
  data?: Record<string, unknown> | undefined;
}
