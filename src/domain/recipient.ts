import type { Channel } from './channel';

/**
 * A recipient is one contact on one channel in a run: a row of the ledger. These are its states, in the order a
 * report shows them. campaigns/runs/ledger.ts says which are stored and which are derived.
 */
export const RECIPIENT_STATES = [
  'pending',
  'waiting',
  'sending',
  'accepted',
  'sent',
  'delivered',
  'undelivered',
  'failed',
  'rejected',
  'suppressed',
  'expired',
  'canceled',
  'unknown',
] as const;
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** How many of a run's recipients are in one state for one reason (api.md 16). */
export interface RecipientOutcome {
  channel: Channel;
  state: RecipientState;
  code: string | null;
  count: number;
}

/**
 * States only move up, until a recipient gets another attempt. `unknown` is a doubt about what the service or a
 * provider did. It therefore ranks below every certain state: `sent` or any end replaces it.
 */
export const RECIPIENT_RANK: Record<RecipientState, number> = {
  pending: 0,
  waiting: 1,
  sending: 2,
  accepted: 3,
  unknown: 4,
  sent: 5,
  undelivered: 6,
  failed: 6,
  rejected: 6,
  suppressed: 6,
  expired: 6,
  canceled: 6,
  delivered: 7,
};

/**
 * States in which the recipient needs no further work. A run is complete when all its recipients are in one of
 * them.
 */
export const SETTLED: readonly RecipientState[] = [
  'sent',
  'delivered',
  'undelivered',
  'failed',
  'rejected',
  'suppressed',
  'expired',
  'canceled',
  'unknown',
];

/** Ends after which a recipient may be sent to again at the operator's request. */
export const RETRIED = ['failed', 'undelivered', 'unknown'] as const satisfies readonly RecipientState[];

/**
 * States that count as reached for another campaign that excludes these recipients. Doubts and messages on
 * their way count, because no person should be written to twice.
 */
export const REACHED: readonly RecipientState[] = ['sending', 'accepted', 'sent', 'delivered', 'unknown'];

export const SKIP_REASONS = [
  'no_address',
  'invalid_address',
  'duplicate_address',
  'suppressed',
  'excluded',
  'missing_params',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
export type Skipped = Record<SkipReason, number>;

/** Every reason, with the number of contacts it applies to. */
export function skippedOf(counted: readonly { reason: SkipReason; contacts: number }[]): Skipped {
  const skipped = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;
  for (const { reason, contacts } of counted) skipped[reason] = contacts;
  return skipped;
}
