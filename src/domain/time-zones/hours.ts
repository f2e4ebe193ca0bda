import { LIMITS } from '../limits';
import { nextChange, offsetAt, wallTimeAt } from './wall-time';

export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Hours of a week, by the clocks of a time zone. If `to` is before `from`, it is on the next day. */
export interface WeeklyWindow {
  /** `HH:MM`, the first minute of the window. */
  from: string;
  /** `HH:MM`, the first minute after the window. */
  to: string;
  /** The time zone, or each recipient's own. */
  timezone?: string | undefined;
  /** The days on which it begins; without it, every day. */
  days?: readonly Weekday[] | undefined;
}

/** `quiet`: nothing is sent in these hours. `open`: messages are sent only in these hours. */
export interface HourRule {
  kind: 'quiet' | 'open';
  window: WeeklyWindow;
}

/** Hours by each recipient's own clock; the default. */
export const RECIPIENT_ZONE = 'recipient';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Whether every rule allows the instant, in each of the zones where the recipient may be. */
export function isAllowed(rules: readonly HourRule[], zones: readonly string[], at: number): boolean {
  return clocksOf(rules, zones).every(({ rule, zone }) => allows(rule, wallTimeAt(zone, at)));
}

/**
 * The earliest instant from `at` on that every rule allows in each of the zones; undefined if there is none.
 * Each rule and zone moves the instant to its next allowed one, until none moves it. None of them passes over
 * an instant that it allows, so that this finds the first instant on which all agree.
 */
export function nextAllowed(
  rules: readonly HourRule[],
  zones: readonly string[],
  at: number,
): number | undefined {
  const clocks = clocksOf(rules, zones);
  const end = at + LIMITS.hoursSearchDays * DAY_MS;
  let found = at;
  let agreed = 0;
  for (let i = 0; agreed < clocks.length; i = (i + 1) % clocks.length) {
    const { rule, zone } = clocks[i] as Clock;
    const next = nextAllowedBy(rule, zone, found, end);
    if (next > end) return undefined;
    agreed = next === found ? agreed + 1 : 1;
    found = next;
  }
  return found;
}

interface Clock {
  rule: HourRule;
  zone: string;
}

function clocksOf(rules: readonly HourRule[], zones: readonly string[]): Clock[] {
  return rules.flatMap((rule) => {
    const { timezone = RECIPIENT_ZONE } = rule.window;
    return (timezone === RECIPIENT_ZONE ? zones : [timezone]).map((zone) => ({ rule, zone }));
  });
}

/**
 * Moves from one instant at which the answer can change to the next: the window's ends, midnight, and changes
 * to and from daylight saving time.
 */
function nextAllowedBy(rule: HourRule, zone: string, at: number, end: number): number {
  let now = at;
  while (now <= end) {
    const wall = wallTimeAt(zone, now);
    if (allows(rule, wall)) return now;
    const timeOfDay = wall % DAY_MS;
    const edges = [minutesOf(rule.window.from), minutesOf(rule.window.to)].map((edge) => edge * MINUTE_MS);
    const edge = Math.min(DAY_MS, ...edges.filter((one) => one > timeOfDay));
    const then = Math.floor(now / 1_000) * 1_000 + edge - timeOfDay;
    now = offsetAt(zone, then) === offsetAt(zone, now) ? then : nextChange(zone, now, then);
  }
  return now;
}

function allows({ kind, window }: HourRule, wall: number): boolean {
  return isWithin(window, wall) === (kind === 'open');
}

function isWithin({ from, to, days }: WeeklyWindow, wall: number): boolean {
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const minute = Math.floor((wall % DAY_MS) / MINUTE_MS);
  const today = new Date(wall).getUTCDay();
  const begins = (day: number) => !days || days.includes(WEEKDAYS[(day + 7) % 7] as Weekday);
  if (start < end) return minute >= start && minute < end && begins(today);
  return (minute >= start && begins(today)) || (minute < end && begins(today - 1));
}

const minutesOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
