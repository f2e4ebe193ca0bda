import type { Channel } from '../../domain/channel';
import { localTimeOf, nextIn, recurrenceOf } from '../../domain/recurrence';
import { type HourRule, isAllowed } from '../../domain/time-zones/hours';
import {
  type HourOptions,
  hourRules,
  openHours,
  runStart,
  startFor,
  zonesOf,
} from '../../domain/time-zones/recipient-hours';
import type { PlaceCount } from './audience-survey';
import { UNKNOWN_PLACE } from './audience-time-zones';

/** When a campaign would reach its recipients, by their time zones. */
export interface ForecastHours {
  /** Times of the first and of the last recipient; null without recipients. */
  earliest: Date | null;
  latest: Date | null;
  /**
   * Recipients whose hour has passed already, so that they are due at once; only for campaigns in recipients'
   * local time.
   */
  late: number;
  /** Recipients reached at night, without an hour rule of the campaign that prevents it. */
  atNight: number;
  /** Recipients delayed by the workspace's quiet hours, beyond the campaign's own hours. */
  quiet: number;
}

/** The hours called night when neither the campaign nor the workspace defines them. */
const NIGHT = { from: '21:00', to: '08:00' };
export const NIGHT_TEXT = `${NIGHT.from}-${NIGHT.to}`;
const NIGHT_RULES: HourRule[] = [{ kind: 'quiet', window: NIGHT }];

export function forecastHours(
  options: HourOptions,
  channel: Channel,
  places: readonly PlaceCount[],
  now: number,
): ForecastHours {
  const hours = openHours(options, channel);
  const heedsNight = hourRules(options, channel).length > 0;
  const result: ForecastHours = { earliest: null, latest: null, late: 0, atNight: 0, quiet: 0 };
  const ownHours = options.policy?.quietHours ? openHours({ ...options, policy: undefined }, channel) : hours;
  const recurrence = recurrenceOf(options);
  const occurrence = (recurrence && nextIn(recurrence, now)) ?? now;
  const localTime = (recurrence && localTimeOf(recurrence, occurrence)) ?? undefined;
  for (const { place, recipients } of places) {
    const start = startFor(place, { ...options, localTime }) ?? runStart(options) ?? occurrence;
    const due = hours.nextFor(place, Math.max(start, now));
    if (due > ownHours.nextFor(place, Math.max(start, now))) result.quiet += recipients;
    if (options.schedule?.recipientLocal && start < now) result.late += recipients;
    if (!result.earliest || due < result.earliest.getTime()) result.earliest = new Date(due);
    if (!result.latest || due > result.latest.getTime()) result.latest = new Date(due);
    // For recipients without a known zone, it cannot be said whether it is night.
    const isKnown = place !== UNKNOWN_PLACE || options.schedule?.timezone !== undefined;
    if (heedsNight || !isKnown) continue;
    if (!isAllowed(NIGHT_RULES, zonesOf(place, options), due)) result.atNight += recipients;
  }
  return result;
}
