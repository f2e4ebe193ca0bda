import { instantOf, type WallMs, wallTimeAt } from './time-zones/wall-time';

/**
 * Cron expressions of five fields: minute, hour, day of the month, month, day of the week. A field is `*`, a
 * number, a name (`jan`, `monday`), a range, any of them with a step, or a list of these. Temporal's server
 * accepts all of these. What it accepts beyond them (seconds, years, `@daily`) is refused here. Where both a
 * day of the month and a day of the week are given, either one matches, as in other crons but not in Temporal.
 *
 * Clocks are read as in time-zones/wall-time.ts. A time that daylight saving skips occurs at the first instant
 * after the gap; a time that clocks show twice occurs once, the first time.
 */
export interface Cron {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** Either kind of day matches. */
  eitherDay: boolean;
}

/** An invalid expression, with what is wrong in it. */
export class CronFault extends Error {}

const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
);
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');

interface Field {
  name: string;
  min: number;
  max: number;
  words?: string[];
}
const FIELDS = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of the week', min: 0, max: 7, words: WEEKDAYS },
] as const satisfies Field[];

/** Throws `CronFault`. */
export function parseCron(text: string): Cron {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) {
    throw new CronFault('This must have five fields: minute, hour, day of the month, month, day of the week');
  }
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, i) =>
    parseField(field, parts[i] ?? ''),
  );
  const isAny = (part: string | undefined) => part?.startsWith('*') === true;
  return {
    minutes: minutes as Set<number>,
    hours: hours as Set<number>,
    days: days as Set<number>,
    months: months as Set<number>,
    // Sunday may be written as 0 or 7.
    weekdays: new Set([...(weekdays as Set<number>)].map((day) => day % 7)),
    eitherDay: !isAny(parts[2]) && !isAny(parts[4]),
  };
}

/** The same as expressions in which both kinds of days must match, because Temporal reads them so. */
export function withBothDays(text: string): string[] {
  const parts = text.trim().split(/\s+/);
  if (!parseCron(text).eitherDay) return [parts.join(' ')];
  return [2, 4].map((any) => parts.map((part, i) => (i === any ? '*' : part)).join(' '));
}

function parseField(field: Field, text: string): Set<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const [, range = '', step] = /^([^/]+)(?:\/(\d{1,4}))?$/.exec(item) ?? [];
    const every = step === undefined ? 1 : Number(step);
    if (range === '' || every < 1) throw fault(field, item);
    const [from, to] = rangeOf(field, range, item, step !== undefined);
    for (let value = from; value <= to; value += every) values.add(value);
  }
  return values;
}

function rangeOf(field: Field, range: string, item: string, stepped: boolean): [number, number] {
  if (range === '*') return [field.min, field.name === 'day of the week' ? 6 : field.max];
  const [first = '', last, more] = range.split('-');
  const from = numberOf(field, first, item);
  if (last === undefined) return [from, stepped ? field.max : from];
  const to = numberOf(field, last, item);
  if (more !== undefined || to < from) throw fault(field, item);
  return [from, to];
}

function numberOf(field: Field, text: string, item: string): number {
  if (/^\d{1,2}$/.test(text) && Number(text) >= field.min && Number(text) <= field.max) return Number(text);
  const word = text.toLowerCase();
  const position = field.words?.findIndex((name) => name === word || name.slice(0, 3) === word) ?? -1;
  if (position < 0) throw fault(field, item);
  return position + field.min;
}

const fault = ({ name, min, max }: Field, item: string) =>
  new CronFault(`"${item}" is no ${name}, which goes from ${min} to ${max}`);

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** From the 29th of February 2096, the next one is eight years away. */
const SEARCH_DAYS = 8 * 366 + 1;
/** No zone puts its clocks back by more than this. */
const PUT_BACK_MS = 3 * 3_600_000;

/** The first occurrence after an instant; undefined when there is none, for example on the 30th of February. */
export function nextOccurrence(cron: Cron, zone: string, after: number): number | undefined {
  const shown = floorTo(MINUTE_MS, wallTimeAt(zone, after));
  for (const wall of wallTimes(cron, shown, 1)) {
    const at = instantOf(zone, wall);
    if (at > after) return at;
  }
  return undefined;
}

/** The last occurrence up to an instant. */
export function lastOccurrence(cron: Cron, zone: string, until: number): number | undefined {
  const shown = floorTo(MINUTE_MS, wallTimeAt(zone, until)) + PUT_BACK_MS;
  for (const wall of wallTimes(cron, shown, -1)) {
    const at = instantOf(zone, wall);
    if (at <= until) return at;
  }
  return undefined;
}

/** Matching wall times from a given one on, forwards or backwards. */
function* wallTimes(cron: Cron, from: WallMs, direction: 1 | -1): Generator<WallMs> {
  const inOrder = (values: ReadonlySet<number>) => [...values].sort((a, b) => direction * (a - b));
  const hours = inOrder(cron.hours);
  const minutes = inOrder(cron.minutes);
  const today = floorTo(DAY_MS, from);
  for (let i = 0; i < SEARCH_DAYS; i++) {
    const day = today + direction * i * DAY_MS;
    if (!hasDay(cron, new Date(day))) continue;
    for (const hour of hours) {
      for (const minute of minutes) {
        const wall = day + (hour * 60 + minute) * MINUTE_MS;
        if (direction * (wall - from) >= 0) yield wall;
      }
    }
  }
}

function hasDay(cron: Cron, day: Date): boolean {
  if (!cron.months.has(day.getUTCMonth() + 1)) return false;
  const [ofMonth, ofWeek] = [cron.days.has(day.getUTCDate()), cron.weekdays.has(day.getUTCDay())];
  return cron.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

const floorTo = (unit: number, ms: number) => Math.floor(ms / unit) * unit;
