import type { Channel } from './channel';
import { LIMITS } from './limits';
import { RECIPIENT_STATES, type RecipientState } from './recipient';

/**
 * Fallback (api.md 7): a contact's channels in the campaign's order, the next only when the one before had
 * no success in time. What a channel's state means for the one that comes after it:
 *
 *   reached    a success; nobody is sent to on a later channel any more
 *   over       it ended without one; the next begins at once
 *   counting   it was handed over, or is in doubt: the next begins when its time is over
 *   open       nothing was handed over, or the channel tries again by itself: the next waits
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

/** A service that tells no more than that it took a message has told its success with that. */
export function standingOf(channel: Channel, state: RecipientState, tellsMore: boolean): Standing {
  // The call is in the air; how it ends may never be told.
  if (channel === 'voice') return state === 'sending' ? 'counting' : STANDINGS[state];
  return !tellsMore && (state === 'accepted' || state === 'sent') ? 'reached' : STANDINGS[state];
}

/** The states of a channel, with the standing of each: the same table for the rule and for its SQL. */
export function standings(channel: Channel, tellsMore: boolean): [RecipientState, Standing][] {
  return RECIPIENT_STATES.map((state) => [state, standingOf(channel, state, tellsMore)]);
}

export interface EarlierChannel {
  standing: Standing;
  /** Since when it stands so. */
  sinceMs: number;
}

export type Turn = 'reached' | 'now' | 'wait';

/**
 * Whether a contact's next channel begins. `earlier` are the channels before it on which the contact is a
 * recipient, in order: a success on any of them counts, and only the last of them is waited for.
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

/** Why a recipient waits whose turn has not come. */
export const EARLIER_CHANNEL = 'earlier_channel';
/** Why a recipient was canceled: an earlier channel had success. */
export const REACHED_BEFORE = 'reached_before';
