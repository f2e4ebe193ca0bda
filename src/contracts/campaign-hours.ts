import type { z } from 'zod';
import type { FieldCode } from '../domain/field-codes';
import { nextAllowed } from '../domain/time-zones/hours';
import { campaignZone, type HourOptions, hourRules } from '../domain/time-zones/recipient-hours';
import { finding } from './validation-issue';

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
    refuse(['voice', 'callWindow'], 'never_open', 'Quiet hours cover all of this: nobody could be called');
  }
}
