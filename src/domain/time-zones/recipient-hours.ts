import type { Channel } from '../channel';
import { LIMITS } from '../limits';
import { quietHoursOf, type WorkspacePolicy } from '../policy';
import { type HourRule, nextAllowed, RECIPIENT_ZONE, type WeeklyWindow } from './hours';
import { phoneZones } from './phone-zones';
import { instantOf, isIanaZone, type WallMs, wallTimeAt } from './wall-time';

/**
 * When a campaign may reach each of its recipients. A recipient's `place` is the zone that the contact states.
 * Otherwise it is the phone number's prefix (`+1208`), which stands for all zones where its owner may be.
 * Otherwise it is the campaign's own zone. All zones of a place must allow an hour. If they never agree, as in
 * a country so wide that its working hours do not overlap, the campaign's zone decides.
 */

/** A campaign's options about hours (api.md 7). */
export interface HourOptions {
  schedule?:
    | {
        startAt?: string | undefined;
        timezone?: string | undefined;
        recipientLocal?: boolean | undefined;
        cron?: string | undefined;
        endAt?: string | undefined;
      }
    | undefined;
  delivery?: { quietHours?: WeeklyWindow | undefined; expireAfterSeconds?: number | undefined } | undefined;
  voice?: { callWindow?: WeeklyWindow | undefined } | undefined;
  class?: string | undefined;
  /** The occurrence's wall time, `YYYY-MM-DDTHH:MM`, when each recipient has it at their own. */
  localTime?: string | undefined;
  /** The workspace's policy, which applies in addition to the campaign's own hours. */
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

/** Whether the time zones of recipients matter on this channel. */
export function asksForPlaces(options: HourOptions, channel: Channel): boolean {
  if (localWall(options) !== undefined) return true;
  return hourRules(options, channel).some(({ window }) => isRecipients(window));
}

/** The zone of recipients whose own zone is not known. */
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
  /** Without any rule, every hour is open. */
  hasRules: boolean;
  /** The earliest instant from `at` on at which a recipient at the place may be reached; `at` itself if now. */
  nextFor(place: string | null, at: number): number;
  /** The earliest instant from `at` on at which any recipient may be reached, as far as it is the same for all. */
  nextForAll(at: number): number;
}

/** The hours of one channel. Results are cached for their minute, because hours change on the minute. */
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
    // Sets of zones are the same objects each time; a single zone is compared as text.
    const key = zones.length > 1 ? zones : (zones[0] ?? '');
    let next = known.get(key);
    if (next === undefined) {
      next = nextAllowed(rules, zones, at) ?? nextAllowed(rules, campaignZones, at) ?? never(at);
      known.set(key, next);
    }
    return Math.max(next, at);
  }
}

/** If no permitted hour is found, look again after this time. */
const never = (at: number) => at + LIMITS.hoursSearchDays * DAY_MS;

/** The zone whose clocks are ahead of all others; POSIX names have the opposite sign. */
export const EARLIEST_ZONE = 'Etc/GMT-14';
const EARLIEST_ZONE_MS = 14 * 3_600_000;
/** Time from when its clocks show an hour until the last clocks on earth do (UTC-12). */
export const ALL_ZONES_MS = 26 * 3_600_000;

/**
 * When a run begins. With `recipientLocal` it begins when the first time zone on earth shows its hour; each
 * recipient is due by their own clock.
 */
export function runStart({ schedule }: HourOptions): number | undefined {
  // A recurring campaign's run begins when its occurrence is taken.
  if (schedule?.startAt === undefined || schedule.cron !== undefined) return undefined;
  if (!schedule.recipientLocal) return Date.parse(schedule.startAt);
  return firstInstantOf(wallMeant(schedule.startAt, schedule.timezone));
}

/** The instant at which the first time zone on earth shows the wall time. */
export const firstInstantOf = (wall: WallMs): number => wall - EARLIEST_ZONE_MS;
export const wallOfFirst = (at: number): WallMs => at + EARLIEST_ZONE_MS;

/** With `recipientLocal`, when the clocks in all zones of the place have shown the hour; otherwise undefined. */
export function startFor(place: string | null, options: HourOptions): number | undefined {
  const wall = localWall(options);
  if (wall === undefined) return undefined;
  return Math.max(...zonesOf(place, options).map((zone) => instantOf(zone, wall)));
}

/** The wall time at which each recipient is due by their own clock, if there is one. */
function localWall({ schedule, localTime }: HourOptions): WallMs | undefined {
  if (localTime !== undefined) return Date.parse(`${localTime}Z`);
  // An occurrence that is started by hand is due now for all recipients.
  if (!schedule?.recipientLocal || schedule.startAt === undefined || schedule.cron !== undefined)
    return undefined;
  return wallMeant(schedule.startAt, schedule.timezone);
}

/** The wall time that a schedule's hour means: what its zone shows then or, without a zone, the time as written. */
export function wallMeant(hour: string, timezone: string | undefined): WallMs {
  if (timezone !== undefined) return wallTimeAt(timezone, Date.parse(hour));
  return Date.parse(hour.replace(/(Z|[+-]\d\d:?\d\d)$/i, 'Z'));
}

const isRecipients = ({ timezone = RECIPIENT_ZONE }: WeeklyWindow) => timezone === RECIPIENT_ZONE;
