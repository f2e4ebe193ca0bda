import type { Channel } from '../channel';
import { LIMITS } from '../limits';
import { quietHoursOf, type WorkspacePolicy } from '../policy';
import { type HourRule, nextAllowed, RECIPIENT_ZONE, type WeeklyWindow } from './hours';
import { phoneZones } from './phone-zones';
import { instantOf, isIanaZone, type WallMs, wallTimeAt } from './wall-time';

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
  /** The wall time of the occurrence that is meant, `YYYY-MM-DDTHH:MM`, when everybody has it at their own. */
  localTime?: string | undefined;
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
  if (localWall(options) !== undefined) return true;
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

/** The zone whose clocks are ahead of all others; its name has the sign the other way round. */
export const EARLIEST_ZONE = 'Etc/GMT-14';
const EARLIEST_ZONE_MS = 14 * 3_600_000;
/** From when its clocks show an hour until the last ones on earth do (UTC-12). */
export const ALL_ZONES_MS = 26 * 3_600_000;

/**
 * When a run has to begin. With `recipientLocal` that is when the first clocks on earth show its hour; each
 * recipient is due by its own.
 */
export function runStart({ schedule }: HourOptions): number | undefined {
  // A recurring campaign's begins when its occurrence is taken.
  if (schedule?.startAt === undefined || schedule.cron !== undefined) return undefined;
  if (!schedule.recipientLocal) return Date.parse(schedule.startAt);
  return firstInstantOf(wallMeant(schedule.startAt, schedule.timezone));
}

/** When the first clocks on earth show it. */
export const firstInstantOf = (wall: WallMs): number => wall - EARLIEST_ZONE_MS;
export const wallOfFirst = (at: number): WallMs => at + EARLIEST_ZONE_MS;

/** With `recipientLocal`, when the clocks in all zones of the place have shown the hour; else undefined. */
export function startFor(place: string | null, options: HourOptions): number | undefined {
  const wall = localWall(options);
  if (wall === undefined) return undefined;
  return Math.max(...zonesOf(place, options).map((zone) => instantOf(zone, wall)));
}

/** The wall time at which everybody is due by their own clocks, if it is one for all. */
function localWall({ schedule, localTime }: HourOptions): WallMs | undefined {
  if (localTime !== undefined) return Date.parse(`${localTime}Z`);
  // An occurrence that somebody starts by hand is everybody's now.
  if (!schedule?.recipientLocal || schedule.startAt === undefined || schedule.cron !== undefined)
    return undefined;
  return wallMeant(schedule.startAt, schedule.timezone);
}

/** The wall time that an hour of a schedule means: what its zone shows then; without one, as it is written. */
export function wallMeant(hour: string, timezone: string | undefined): WallMs {
  if (timezone !== undefined) return wallTimeAt(timezone, Date.parse(hour));
  return Date.parse(hour.replace(/(Z|[+-]\d\d:?\d\d)$/i, 'Z'));
}

const isRecipients = ({ timezone = RECIPIENT_ZONE }: WeeklyWindow) => timezone === RECIPIENT_ZONE;
