import type { z } from 'zod';
import { CronFault } from '../domain/cron';
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
  const { cron, startAt, endAt } = schedule as Record<string, unknown>;

  if (typeof endAt === 'string' && cron === undefined && Date.parse(endAt) <= Date.now()) {
    refuse('endAt', 'never_due', 'This time is over, so that no recipient would be sent to');
  }
  if (typeof startAt === 'string' && typeof endAt === 'string' && Date.parse(endAt) <= Date.parse(startAt)) {
    refuse('endAt', 'before_start', 'This is not after startAt');
    return;
  }
  if (typeof cron === 'string') checkCron(schedule as ScheduleOptions, refuse);
}

function checkCron(
  schedule: ScheduleOptions,
  refuse: (member: string, code: FieldCode, message: string) => void,
): void {
  try {
    // Other members that are wrong are reported where they are.
    const { cron, timezone, recipientLocal } = schedule;
    const known = timezone !== undefined && typeof timezone === 'string' && isIanaZone(timezone);
    const local = recipientLocal === true;
    const alone = recurrenceOf({
      schedule: { cron, recipientLocal: local, ...(known ? { timezone } : {}) },
    });
    if (alone && nextIn(alone, Date.now()) === undefined) {
      refuse('cron', 'never_due', 'There is no such day');
      return;
    }
    if (![schedule.startAt, schedule.endAt].every(isInstant)) return;
    const bounded = recurrenceOf({
      schedule: { ...schedule, recipientLocal: local, timezone: known ? timezone : undefined },
    });
    if (bounded && nextIn(bounded, Date.now()) === undefined) {
      refuse('endAt', 'never_due', 'It is never due before this');
    }
  } catch (error) {
    if (!(error instanceof CronFault)) throw error;
    refuse('cron', 'invalid_cron', error.message);
  }
}

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
  if (context.issues.length > 0) return;
  const options = value as HourOptions;
  const rules = hourRules(options, 'voice');
  if (rules.length > 1 && nextAllowed(rules, [campaignZone(options)], Date.now()) === undefined) {
    refuse(
      ['voice', 'callWindow'],
      'never_open',
      'Quiet hours cover all of this: no recipient could be called',
    );
  }
}
