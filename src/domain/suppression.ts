import type { Channel } from './channel';

/**
 * Where a block came from. What people made they can lift again: START lifts what a `keyword` made, and the
 * page that unsubscribes what it made itself (`unsubscribe`). The others stay until somebody removes them on
 * purpose. `provider`: the carrier said that it blocks this sender for its subscriber.
 */
export const SUPPRESSION_SOURCES = [
  'api',
  'csv',
  'keyword',
  'complaint',
  'bounce',
  'unsubscribe',
  'voice',
  'provider',
] as const;
export type SuppressionSource = (typeof SUPPRESSION_SOURCES)[number];

/** What removed one: a call of the API, START, or the page that unsubscribes, whose way back it is. */
export const SUPPRESSION_LIFTERS = ['api', 'keyword', 'page'] as const;
export type SuppressionLifter = (typeof SUPPRESSION_LIFTERS)[number];

/** `all`: every channel that the address can be reached on. */
export const SUPPRESSION_CHANNELS = ['email', 'sms', 'voice', 'all'] as const;
export type SuppressionChannel = Channel | 'all';

/** One thing to block. Addresses and senders are compared by `addressKey` and `senderKey`. */
export interface Suppression {
  channel: SuppressionChannel;
  address: string;
  reason: string;
  /** One sender, or every sender of the workspace. */
  sender: string | undefined;
}

/**
 * An address as it is compared. The part before the @ belongs to the receiving host, which may tell
 * cases apart; none does, and a block must not be escaped by writing an address differently. Phone
 * numbers were normalised to E.164 when they entered.
 */
export function addressKey(address: string): string {
  return address.toLowerCase();
}

/** A sender as it is compared: without its display name, and whatever its case. */
export function senderKey(sender: string): string {
  return (/<([^<>]+)>$/.exec(sender)?.[1] ?? sender).toLowerCase();
}
