/**
 * A recipient is one contact on one channel in a run: a row of the ledger. Its states, in the order a
 * report shows them. Which of them are stored and which are derived is told in campaigns/ledger.ts.
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

/**
 * States move up only, until a recipient is given another attempt. `unknown` is a doubt about what the service or a provider did, so it ranks below
 * everything that is certain: news that the message was sent, or of any end, replaces it.
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

/** States in which nothing more is owed to the recipient; a run with nobody short of them is complete. */
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

/** Ends after which a recipient may be sent to again because its owner asks for it. */
export const RETRIED = ['failed', 'undelivered', 'unknown'] as const satisfies readonly RecipientState[];

/**
 * Whom a campaign has reached, as another one that excludes it sees them. Doubt and what is on its way
 * count: the purpose is not to write to anybody twice.
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

/** Every reason, with how many contacts it holds for. */
export function skippedOf(counted: readonly { reason: SkipReason; contacts: number }[]): Skipped {
  const skipped = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;
  for (const { reason, contacts } of counted) skipped[reason] = contacts;
  return skipped;
}
