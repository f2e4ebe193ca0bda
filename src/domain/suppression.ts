import type { Channel } from './channel';

/**
 * Where a suppression came from. A recipient can lift what they made: START lifts a `keyword` one, and the
 * unsubscribe page lifts its own (`unsubscribe`). The others stay until an operator removes them. `provider`:
 * the carrier reported that it blocks this sender for its subscriber. `erased`: the person was erased; the entry knows
 * the address by a hash only.
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
  'erased',
] as const;
export type SuppressionSource = (typeof SUPPRESSION_SOURCES)[number];

/** What removed a suppression: a call of the API, START, or the undo of the unsubscribe page. */
export const SUPPRESSION_LIFTERS = ['api', 'keyword', 'page'] as const;
export type SuppressionLifter = (typeof SUPPRESSION_LIFTERS)[number];

/** `all`: every channel on which the address can be reached. */
export const SUPPRESSION_CHANNELS = ['email', 'sms', 'voice', 'all'] as const;
export type SuppressionChannel = Channel | 'all';

/** One thing to suppress. Addresses and senders are compared by `addressKey` and `senderKey`. */
export interface Suppression {
  channel: SuppressionChannel;
  address: string;
  reason: string;
  /** One sender; undefined for every sender of the workspace. */
  sender: string | undefined;
}

/**
 * An address in the form in which it is compared. A mail host may treat the part before the @ as
 * case-sensitive, but none does, and writing an address differently must not avoid a suppression. Phone numbers
 * were converted to E.164 when they were stored.
 */
export function addressKey(address: string): string {
  return address.toLowerCase();
}

/** A sender in the form in which it is compared: without its display name, in lower case. */
export function senderKey(sender: string): string {
  return (/<([^<>]+)>$/.exec(sender)?.[1] ?? sender).toLowerCase();
}
