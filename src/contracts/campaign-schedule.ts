import type { z } from 'zod';
import { CronFault } from '../domain/cron';
import { databaseNow } from '../domain/database-clock';
import type { FieldError } from '../domain/errors';
import type { FieldCode } from '../domain/field-codes';
import { nextIn, recurrenceOf, type ScheduleOptions } from '../domain/recurrence';
import { nextAllowed } from '../domain/time-zones/hours';
import { campaignZone, type HourOptions, hourRules } from '../domain/time-zones/recipient-hours';
import { isIanaZone } from '../domain/time-zones/wall-time';
import { finding } from './validation-issue';

/** What a campaign says about when it happens must be possible, all of it together (api.md 7). */
export function checkSchedule(value: unknown, context: z.RefinementCtx): void {
  const { schedule } = value as { schedule?: unknown };
  if (typeof schedule !== 'object' || schedule === null) return;
  const refuse = (member: string, code: FieldCode, message: string) =>
    context.addIssue(finding(code, message, ['schedule', member]));
  const { cron } = schedule as Record<string, unknown>;
  if (endsBeforeStart(schedule)) {
    refuse('endAt', 'before_start', 'This is not after startAt');
  }
  if (typeof cron !== 'string') return;
  try {
    if (!isEverDue(schedule)) refuse('cron', 'never_due', 'There is no such day');
  } catch (error) {
    if (!(error instanceof CronFault)) throw error;
    refuse('cron', 'invalid_cron', error.message);
  }
}

/**
 * What is wrong with a schedule at the hour at which it comes. It is no part of the schema, because the same request may
 * come once more after its `endAt`, under its Idempotency-Key, and gets the first answer then.
 */
export function overByNow(body: unknown, nowMs: number = databaseNow()): FieldError[] {
  const { schedule } = (body ?? {}) as { schedule?: unknown };
  if (typeof schedule !== 'object' || schedule === null) return [];
  const { cron, startAt, endAt } = schedule as Record<string, unknown>;
  const over = (message: string): FieldError[] => [{ path: 'schedule.endAt', code: 'never_due', message }];
  if (cron === undefined) {
    const isOver = typeof endAt === 'string' && Date.parse(endAt) <= nowMs;
    return isOver ? over('This time is over, so that no recipient would be sent to') : [];
  }
  if (endsBeforeStart(schedule) || ![startAt, endAt].every(isInstant)) return [];
  try {
    if (!isEverDue(schedule)) return [];
    const bounded = recurrenceOf({ schedule: { ...schedule, ...ownClocks(schedule) } });
    return bounded && nextIn(bounded, nowMs) === undefined ? over('It is never due before this') : [];
  } catch (error) {
    // What is wrong with the cron itself is reported where it is.
    if (error instanceof CronFault) return [];
    throw error;
  }
}

function endsBeforeStart({ startAt, endAt }: { startAt?: unknown; endAt?: unknown }): boolean {
  return typeof startAt === 'string' && typeof endAt === 'string' && Date.parse(endAt) <= Date.parse(startAt);
}

/** Without bounds. Throws `CronFault`. */
function isEverDue(schedule: ScheduleOptions): boolean {
  const alone =
    typeof schedule.cron === 'string'
      ? recurrenceOf({ schedule: { cron: schedule.cron, ...ownClocks(schedule) } })
      : undefined;
  return alone !== undefined && nextIn(alone, Date.now()) !== undefined;
}

/** Members that are wrong are reported where they are. */
const ownClocks = ({ timezone, recipientLocal }: ScheduleOptions) => ({
  recipientLocal: recipientLocal === true,
  timezone: typeof timezone === 'string' && isIanaZone(timezone) ? timezone : undefined,
});

const isInstant = (value: unknown) =>
  value === undefined || (typeof value === 'string' && !Number.isNaN(Date.parse(value)));

/** What a campaign says about hours must be possible, all of it together (api.md 7). */
export function checkHours(value: unknown, context: z.RefinementCtx): void {
  const refuse = (path: string[], code: FieldCode, message: string) =>
    context.addIssue(finding(code, message, path));
  const { schedule } = value as HourOptions;
  if (schedule?.recipientLocal === true && schedule.startAt === undefined && schedule.cron === undefined) {
    refuse(['schedule', 'startAt'], 'required', 'recipientLocal needs the hour at which to start');
  }
  // Values that are wrong by themselves are reported where they are, and cannot be compared.
  if (context.issues.some(({ path }) => isOfHours(path ?? []))) return;
  // Without what else the body has: where something in it is wrong, members that are not known are still there.
  const { delivery, voice, class: kind } = value as HourOptions;
  const options: HourOptions = { schedule, delivery, voice, class: kind };
  const rules = hourRules(options, 'voice');
  if (rules.length > 1 && nextAllowed(rules, [campaignZone(options)], Date.now()) === undefined) {
    refuse(
      ['voice', 'callWindow'],
      'never_open',
      'Quiet hours cover all of this: no recipient could be called',
    );
  }
}

const isOfHours = ([first, second]: readonly PropertyKey[]): boolean =>
  first === 'delivery' || first === 'voice' || (first === 'schedule' && second === 'timezone');
