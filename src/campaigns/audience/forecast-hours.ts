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

/** When a campaign would reach its recipients, by where they are. */
export interface ForecastHours {
  /** Of the first and of the last recipient that falls due; null without recipients. */
  earliest: Date | null;
  latest: Date | null;
  /** Whose hour has passed already, so that they are due at once; of campaigns in recipients' own time. */
  late: number;
  /** For whom it is night then, and nothing in the campaign keeps them from it. */
  atNight: number;
  /** Whom the workspace's quiet hours keep waiting, beyond what the campaign asks for itself. */
  quiet: number;
}

/** What is called night when nobody has said what is. */
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
    // Of those whose place nobody knows, nobody can say whether it is night.
    const isKnown = place !== UNKNOWN_PLACE || options.schedule?.timezone !== undefined;
    if (heedsNight || !isKnown) continue;
    if (!isAllowed(NIGHT_RULES, zonesOf(place, options), due)) result.atNight += recipients;
  }
  return result;
}
