import { LIMITS } from '../domain/limits';

/** Whether a time is at most a year ahead: until the same hour of the same date, however many days that is. */
export function isWithinAYear(at: string, nowMs: number = Date.now()): boolean {
  const latest = new Date(nowMs);
  latest.setUTCFullYear(latest.getUTCFullYear() + LIMITS.sendAtYearsMax);
  // A text that is no time at all has an error of its own already.
  return !(Date.parse(at) > latest.getTime());
}
