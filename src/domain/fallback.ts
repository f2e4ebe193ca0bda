import type { Channel } from './channel';
import { LIMITS } from './limits';
import { RECIPIENT_STATES, type RecipientState } from './recipient';

/**
 * Fallback (api.md 7): a contact's channels in the campaign's order, and the next one
 * only when the one before had no success in time. What a channel's state means for the next channel:
 *
 *   reached    success: no later channel is used
 *   over       ended without success: the next channel begins at once
 *   counting   handed over, or in doubt: the next channel begins when the time is over
 *   open       nothing was handed over, or the channel will try again: the next channel waits
 */
export type Standing = 'reached' | 'over' | 'counting' | 'open';

const STANDINGS: Record<RecipientState, Standing> = {
  pending: 'open',
  waiting: 'open',
  sending: 'open',
  accepted: 'open',
  sent: 'counting',
  unknown: 'counting',
  delivered: 'reached',
  undelivered: 'over',
  failed: 'over',
  rejected: 'over',
  suppressed: 'over',
  expired: 'over',
  canceled: 'over',
};

/** A service that reports nothing beyond its acceptance has reported success with it. */
export function standingOf(channel: Channel, state: RecipientState, tellsMore: boolean): Standing {
  // The call is in the air; its end may never be reported.
  if (channel === 'voice' && state === 'sending') return 'counting';
  return !tellsMore && (state === 'accepted' || state === 'sent') ? 'reached' : STANDINGS[state];
}

/** The states of a channel with the standing of each, so that the rule and its SQL use the same table. */
export function standings(channel: Channel, tellsMore: boolean): [RecipientState, Standing][] {
  return RECIPIENT_STATES.map((state) => [state, standingOf(channel, state, tellsMore)]);
}

export interface EarlierChannel {
  standing: Standing;
  /** Since when the channel has this standing. */
  sinceMs: number;
}

export type Turn = 'reached' | 'now' | 'wait';

/**
 * Whether a contact's next channel begins. `earlier` has the channels before it on which the contact is a
 * recipient, in order. A success on any of them counts, and only the last of them is waited for.
 */
export function nextTurn(earlier: readonly EarlierChannel[], afterMs: number, nowMs: number): Turn {
  if (earlier.some(({ standing }) => standing === 'reached')) return 'reached';
  const latest = earlier.at(-1);
  if (!latest || latest.standing === 'over') return 'now';
  return latest.standing === 'counting' && nowMs - latest.sinceMs >= afterMs ? 'now' : 'wait';
}

export function fallbackAfterMs(options: { fallbackAfterSeconds?: number | undefined }): number {
  return (options.fallbackAfterSeconds ?? LIMITS.fallbackAfterSecondsDefault) * 1000;
}

/** Code of a recipient who waits for an earlier channel. */
export const EARLIER_CHANNEL = 'earlier_channel';
/** Code of a recipient who was canceled, because an earlier channel had success. */
export const REACHED_BEFORE = 'reached_before';
