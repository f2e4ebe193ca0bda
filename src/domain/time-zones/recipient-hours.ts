import type { Channel } from '../channel';
import { LIMITS } from '../limits';
import { quietHoursOf, type WorkspacePolicy } from '../policy';
import { type HourRule, nextAllowed, RECIPIENT_ZONE, type WeeklyWindow } from './hours';
import { phoneZones } from './phone-zones';
import { instantOf, isIanaZone, wallTimeAt } from './wall-time';

/**
 * When a campaign may reach each of its recipients. Where a recipient is, is told by a place: the zone that
 * the contact states, else the beginning of the phone number (`+1208`), which stands for all the zones where
 * its owner may be, else the campaign's own zone. All zones of a place must allow an hour. Should they never
 * agree, as for a country so wide that its working hours do not meet, the place tells nothing, and the
 * campaign's zone decides.
 */

/** What a campaign says about hours (api.md 7). */
export interface HourOptions {
  schedule?:
    | {
        startAt?: string | undefined;
        timezone?: string | undefined;
        recipientLocal?: boolean | undefined;
        cron?: string | undefined;
      }
    | undefined;
  delivery?: { quietHours?: WeeklyWindow | undefined } | undefined;
  voice?: { callWindow?: WeeklyWindow | undefined } | undefined;
  class?: string | undefined;
  /** The workspace's, which holds beside the campaign's own. */
  policy?: Pick<WorkspacePolicy, 'quietHours'> | undefined;
}

export function hourRules(options: HourOptions, channel: Channel): HourRule[] {
  const { delivery, voice, policy } = options;
  const rules: HourRule[] = [];
  const quiet = quietHoursOf(policy, channel, options.class);
  if (quiet) rules.push({ kind: 'quiet', window: quiet });
  if (delivery?.quietHours) rules.push({ kind: 'quiet', window: delivery.quietHours });
  if (voice?.callWindow && channel === 'voice') rules.push({ kind: 'open', window: voice.callWindow });
  return rules;
}

/** Whether it matters on this channel where each recipient is. */
export function asksForPlaces(options: HourOptions, channel: Channel): boolean {
  const { schedule } = options;
  if (schedule?.recipientLocal && schedule.startAt !== undefined) return true;
  return hourRules(options, channel).some(({ window }) => isRecipients(window));
}

/** Of recipients whose own zone nobody knows. */
export function campaignZone(options: HourOptions): string {
  const { schedule, delivery, voice } = options;
  const windows = [delivery?.quietHours, voice?.callWindow];
  const stated = windows.find((window) => window && !isRecipients(window))?.timezone;
  return schedule?.timezone ?? stated ?? 'UTC';
}

/** The zones of a place, each of which the recipient may be in. */
export function zonesOf(place: string | null, options: HourOptions): readonly string[] {
  const zones = place?.startsWith('+') ? phoneZones().get(place.slice(1)) : undefined;
  if (zones) return zones;
  return [place !== null && isIanaZone(place) ? place : campaignZone(options)];
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export interface OpenHours {
  /** Without any, every hour is open. */
  hasRules: boolean;
  /** The earliest instant from `at` on at which somebody at the place may be reached: `at` itself, if now. */
  nextFor(place: string | null, at: number): number;
  /** The earliest instant from `at` on at which anybody at all may be reached, as far as it is one for all. */
  nextForAll(at: number): number;
}

/** The hours of one channel. Answers are kept for the minute they are for, since hours change on the minute. */
export function openHours(options: HourOptions, channel: Channel): OpenHours {
  const rules = hourRules(options, channel);
  const campaignZones = [campaignZone(options)];
  const known = new Map<readonly string[] | string, number>();
  let minute = 0;
  return {
    hasRules: rules.length > 0,
    nextFor,
    nextForAll: (at) => (asksForPlaces(options, channel) ? at : nextFor(null, at)),
  };

  function nextFor(place: string | null, at: number): number {
    if (rules.length === 0) return at;
    if (Math.floor(at / MINUTE_MS) !== minute) {
      minute = Math.floor(at / MINUTE_MS);
      known.clear();
    }
    const zones = zonesOf(place, options);
    // Sets of zones are the same objects each time, a zone is not.
    const key = zones.length > 1 ? zones : (zones[0] ?? '');
    let next = known.get(key);
    if (next === undefined) {
      next = nextAllowed(rules, zones, at) ?? nextAllowed(rules, campaignZones, at) ?? never(at);
      known.set(key, next);
    }
    return Math.max(next, at);
  }
}

/** Hours that never come are looked for again later. */
const never = (at: number) => at + LIMITS.hoursSearchDays * DAY_MS;

/** The zone whose clocks are ahead of all others. */
const EARLIEST_ZONE_MS = 14 * 3_600_000;

/**
 * When a run has to begin. With `recipientLocal` that is when the first clocks on earth show its hour; each
 * recipient is due by its own.
 */
export function runStart({ schedule }: HourOptions): number | undefined {
  // A recurring campaign's begins when its occurrence is taken.
  if (schedule?.startAt === undefined || schedule.cron !== undefined) return undefined;
  if (!schedule.recipientLocal) return Date.parse(schedule.startAt);
  return wallStart(schedule.startAt, schedule.timezone) - EARLIEST_ZONE_MS;
}

/** With `recipientLocal`, when the clocks in all zones of the place have shown the hour; else undefined. */
export function startFor(place: string | null, options: HourOptions): number | undefined {
  const { schedule } = options;
  if (!schedule?.recipientLocal || schedule.startAt === undefined) return undefined;
  const wall = wallStart(schedule.startAt, schedule.timezone);
  return Math.max(...zonesOf(place, options).map((zone) => instantOf(zone, wall)));
}

/** The wall time that `startAt` means: what the schedule's zone shows then; without one, as it is written. */
function wallStart(startAt: string, timezone: string | undefined): number {
  if (timezone !== undefined) return wallTimeAt(timezone, Date.parse(startAt));
  return Date.parse(startAt.replace(/(Z|[+-]\d\d:?\d\d)$/i, 'Z'));
}

const isRecipients = ({ timezone = RECIPIENT_ZONE }: WeeklyWindow) => timezone === RECIPIENT_ZONE;
