import { CHANNELS, type Channel } from '../../domain/channel';
import type { FieldCode } from '../../domain/field-codes';
import { optOutTextOf, type WorkspacePolicy } from '../../domain/policy';
import type { ValidationIssue } from '../../domain/validation-issue';
import type { CampaignContent } from '../model/campaign-record';
import type { AudienceSurvey } from './audience-survey';
import type { ForecastHours } from './forecast-hours';

/** What the workspace's policy does to a campaign, for the person who checks it before it is sent. */
export function policyWarnings(
  { channels, options }: CampaignContent,
  surveys: Partial<Record<Channel, AudienceSurvey>>,
  hours: Partial<Record<Channel, ForecastHours>>,
  policy: WorkspacePolicy | undefined,
): ValidationIssue[] {
  const warnings: ValidationIssue[] = [];
  for (const channel of CHANNELS.filter((one) => channels.includes(one))) {
    const survey = surveys[channel];
    const forecast = hours[channel];
    if (!survey) continue;
    if (survey.overCap > 0) {
      const text = `${survey.overCap} of ${survey.recipients} recipients are over the cap of the workspace's policy now, and wait until there is room`;
      warnings.push(warning(channel, 'frequency_cap', text));
    }
    if (forecast) warnings.push(...quietWarnings(channel, forecast, `${survey.recipients} recipients`));
    const optOut = optOutTextOf(policy, channel, options.class);
    const ended = survey.segments?.withOptOutText ?? survey.recipients;
    if (optOut && ended > 0) {
      const known = survey.segments ? ', which are in these counts' : '';
      const whom = survey.segments || !optOut.onlyFirst ? '' : ', unless their numbers have had it';
      const text = `${ended} of ${survey.recipients} messages end with the ${optOut.text.length} characters of the policy's text on opting out${known}${whom}`;
      warnings.push(warning(channel, 'opt_out_text', text));
    }
  }
  return warnings;
}

export function quietWarnings(channel: Channel, { quiet }: ForecastHours, all: string): ValidationIssue[] {
  if (quiet === 0) return [];
  const text = `The quiet hours of the workspace's policy let ${quiet} of ${all} wait`;
  return [warning(channel, 'policy_quiet_hours', text)];
}

const warning = (channel: Channel, code: FieldCode, message: string): ValidationIssue => ({
  path: `settings.${channel}`,
  code,
  message,
  severity: 'warning',
});
