import { type Cron, lastOccurrence, nextOccurrence, parseCron } from './cron';
import { LIMITS } from './limits';
import { EARLIEST_ZONE, firstInstantOf, wallMeant, wallOfFirst } from './time-zones/recipient-hours';

/** When a campaign repeats, and what becomes of a missed occurrence (api.md 7). */

export interface ScheduleOptions {
  startAt?: string | undefined;
  endAt?: string | undefined;
  timezone?: string | undefined;
  cron?: string | undefined;
  misfire?: 'send' | 'skip' | undefined;
  recipientLocal?: boolean | undefined;
}

/**
 * The instants at which occurrences begin. With `recipientLocal` an occurrence is a wall time. It begins when
 * the first time zone on earth shows it; that zone has no daylight saving, so that it skips or repeats no hour.
 * The bounds are wall times then, too.
 */
export interface Recurrence {
  cron: Cron;
  zone: string;
  recipientLocal: boolean;
  /** Both bounds are included. */
  startAt: number;
  endAt: number;
  misfire: 'send' | 'skip';
}

/** Undefined for a campaign that does not repeat. Throws `CronFault`. */
export function recurrenceOf(options: { schedule?: ScheduleOptions | undefined }): Recurrence | undefined {
  const { schedule } = options;
  if (schedule?.cron === undefined) return undefined;
  const { startAt, endAt, timezone, cron, misfire = 'send', recipientLocal = false } = schedule;
  const instant = (hour: string) =>
    recipientLocal ? firstInstantOf(wallMeant(hour, timezone)) : Date.parse(hour);
  return {
    cron: parseCron(cron),
    zone: recipientLocal ? EARLIEST_ZONE : (timezone ?? 'UTC'),
    recipientLocal,
    startAt: startAt === undefined ? Number.NEGATIVE_INFINITY : instant(startAt),
    endAt: endAt === undefined ? Number.POSITIVE_INFINITY : instant(endAt),
    misfire,
  };
}

/**
 * The local time at which each recipient is due, `YYYY-MM-DDTHH:MM`; null when all are due as the occurrence
 * begins.
 */
export function localTimeOf({ recipientLocal }: Recurrence, occurrence: number): string | null {
  return recipientLocal ? new Date(wallOfFirst(occurrence)).toISOString().slice(0, 16) : null;
}

/** The first occurrence after an instant; undefined when the schedule is over. */
export function nextIn({ cron, zone, startAt, endAt }: Recurrence, after: number): number | undefined {
  const next = nextOccurrence(cron, zone, Math.max(after, startAt - 1));
  return next !== undefined && next <= endAt ? next : undefined;
}

/** The newest occurrence up to now. Of several missed occurrences, only this one is still sent. */
export function newestIn({ cron, zone, startAt, endAt }: Recurrence, now: number): number | undefined {
  const newest = lastOccurrence(cron, zone, Math.min(now, endAt));
  return newest !== undefined && newest >= startAt ? newest : undefined;
}

/** Why an occurrence that was due then is left out now; undefined when it is not. */
export function misfire(
  { misfire = 'send', endAt }: { misfire?: 'send' | 'skip' | undefined; endAt?: number },
  dueAt: number,
  now: number,
): string | undefined {
  const toleranceMs = LIMITS.misfireToleranceSeconds * 1_000;
  const due = new Date(dueAt).toISOString();
  const was = `it was due at ${due} and nothing was there to begin it until ${new Date(now).toISOString()}`;
  if (endAt !== undefined && now - endAt > toleranceMs) return `misfire: ${was}, when the schedule had ended`;
  return misfire === 'skip' && now - dueAt > toleranceMs ? `misfire: ${was}` : undefined;
}
