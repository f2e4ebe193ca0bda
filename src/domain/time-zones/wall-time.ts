import { LIMITS } from '../limits';

/**
 * Converts between instants and the wall time of a zone. Uses only Intl, which knows every zone with its
 * daylight saving and exists in the workflow sandbox too.
 *
 * A wall time that daylight saving skips means the first instant after the gap; a wall time that occurs twice
 * means the first of the two. Cron expressions are read the same way.
 */

/** A wall time, as the milliseconds of the same date and hour in UTC. */
export type WallMs = number;

const DAY_MS = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat | undefined>();
/** A format takes 60 kB, and a zone has many spellings, so that all names of some 400 zones share their formats. */
const formatsByZone = new Map<string, Intl.DateTimeFormat>();

/**
 * IANA names and their aliases. An offset such as +05:00, which newer engines accept, is refused because it has
 * no daylight saving.
 */
export function isIanaZone(name: string): boolean {
  return formatOf(name) !== undefined;
}

/** What the zone's clocks show at an instant, to the second. Throws for an unknown zone. */
export function wallTimeAt(zone: string, at: number): WallMs {
  const format = formatOf(zone);
  if (!format) throw new RangeError(`${zone} is not an IANA time zone`);
  const [month, day, year, hour, minute, second] = (format.format(at).match(/\d+/g) ?? []).map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
}

/** The instant at which the zone's clocks show this. */
export function instantOf(zone: string, wall: WallMs): number {
  const [before, after] = [offsetAt(zone, wall - DAY_MS), offsetAt(zone, wall + DAY_MS)];
  const meant = [wall - before, wall - after].filter((at) => wallTimeAt(zone, at) === wall);
  if (meant.length > 0) return Math.min(...meant);
  return nextChange(zone, wall - Math.max(before, after), wall - Math.min(before, after));
}

/** The zone's distance from UTC; whole minutes for zones in use. */
export function offsetAt(zone: string, at: number): number {
  return wallTimeAt(zone, at) - Math.floor(at / 1_000) * 1_000;
}

/** The first instant after `from`, to the second, at which the zone's offset changes; at the latest `until`. */
export function nextChange(zone: string, from: number, until: number): number {
  const offset = offsetAt(zone, from);
  let [same, changed] = [Math.floor(from / 1_000), Math.ceil(until / 1_000)];
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(zone, middle * 1_000) === offset) same = middle;
    else changed = middle;
  }
  return changed * 1_000;
}

function formatOf(name: string): Intl.DateTimeFormat | undefined {
  if (formats.has(name)) return formats.get(name);
  if (formats.size >= LIMITS.timeZoneNames) formats.clear();
  const made = /^[A-Za-z]/.test(name) ? makeFormat(name) : undefined;
  const zone = made?.resolvedOptions().timeZone ?? name;
  const format = formatsByZone.get(zone) ?? made;
  if (format) formatsByZone.set(zone, format);
  formats.set(name, format);
  return format;
}

function makeFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  } catch {
    return undefined;
  }
}
