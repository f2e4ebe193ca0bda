import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { capsOf, optOutTextOf, type WorkspacePolicy } from '../../domain/policy';
import type { Skipped } from '../../domain/recipient';
import { waitsSeconds } from '../../domain/release';
import type { ValidationIssue } from '../../domain/validation-issue';
import { audienceLists, type CampaignContent } from '../model/campaign-record';
import type { NoticeRule, SenderRate, SuppressionRule, TemplateFound } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type ChannelSettings, readSettings } from '../runs/runs';
import { audienceOf } from './audience-sql';
import { type AudienceSurvey, surveyAudience } from './audience-survey';
import { exclusionWarnings, otherDocumentWarnings, surveyWarnings } from './campaign-warnings';
import { type ForecastHours, forecastHours } from './forecast-hours';
import { policyWarnings } from './policy-warnings';

export interface DryRun {
  channels: Partial<Record<Channel, ChannelForecast>>;
  /** Null when neither the campaign nor its senders are limited and nothing waits, and for channels in turns. */
  durationSeconds: number | null;
  warnings: ValidationIssue[];
}

export interface ChannelForecast {
  contacts: number;
  recipients: number;
  skipped: Skipped;
  /** For SMS: segments of all messages and of the longest one; absent where the service does not give the text. */
  segments?: number;
  longest?: number;
  offenders: AudienceSurvey['offenders'];
  /** When the first and the last recipient become due; null without recipients. */
  earliest: Date | null;
  latest: Date | null;
}

interface DryRunsDeps {
  suppression: SuppressionRule | undefined;
  isToldHowToOptOut: NoticeRule | undefined;
  senderRate: SenderRate | undefined;
  now: () => number;
}

/**
 * Predicts what would become of a campaign, without creating anything (api.md 7). Each dry run takes a
 * connection, and seconds for a large audience. A process therefore makes few at a time and answers
 * `overloaded` to more.
 */
export function createDryRuns(deps: DryRunsDeps) {
  return new DryRuns(deps);
}

class DryRuns {
  private running = 0;

  constructor(private readonly deps: DryRunsDeps) {}

  readonly limited = async <T>(work: () => Promise<T>): Promise<T> => {
    if (this.running >= LIMITS.dryRunsAtOnce) {
      throw new DomainError('overloaded', 'Other dry runs are under way; try again in a while', {
        retryAfterSeconds: 5,
      });
    }
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
    }
  };

  /** `on` is a transaction when it holds an audience that must stay invisible to others. */
  readonly dryRun = async (
    on: Kysely<CampaignTables>,
    workspaceId: string,
    content: CampaignContent,
    templates: Partial<Record<Channel, TemplateFound>>,
    policy?: WorkspacePolicy,
  ): Promise<DryRun> => {
    const settings = readSettings(content.settings);
    const source = {
      workspaceId,
      settings,
      contactListIds: audienceLists(content),
      ownListId: content.ownListId,
      options: { ...content.options, policy },
    };
    const surveys: Partial<Record<Channel, AudienceSurvey>> = {};
    const hours: Partial<Record<Channel, ForecastHours>> = {};
    const startedAt = this.deps.now();
    for (const channel of CHANNELS.filter((one) => content.channels.includes(one))) {
      const audience = audienceOf(
        source,
        channel,
        templates[channel]?.placeholders ?? [],
        this.deps.suppression,
      );
      const from = settings[channel]?.from ?? '';
      const survey = await surveyAudience(on, audience, {
        smsText: channel === 'sms' ? templates.sms?.text : undefined,
        ending: optOutTextOf(policy, channel, content.options.class),
        isTold: (address) =>
          this.deps.isToldHowToOptOut?.(workspaceId, { from, address }) ?? sql<boolean>`false`,
        caps: capsOf(policy, channel, content.options.class),
      });
      surveys[channel] = survey;
      hours[channel] = forecastHours(source.options, channel, survey.places, startedAt);
    }
    return {
      channels: Object.fromEntries(
        Object.entries(surveys).map(([channel, survey]) => [
          channel,
          forecastOf(survey, hours[channel as Channel]),
        ]),
      ),
      durationSeconds: durationOf(workspaceId, content, settings, surveys, this.deps.senderRate),
      warnings: [
        ...surveyWarnings(content, surveys, hours),
        ...(await exclusionWarnings(on, workspaceId, content)),
        ...otherDocumentWarnings(templates.voice?.text),
        ...policyWarnings(content, surveys, hours, policy),
      ],
    };
  };
}

function forecastOf(
  { segments, places: _, overCap: __, ...survey }: AudienceSurvey,
  hours: ForecastHours | undefined,
): ChannelForecast {
  return {
    ...survey,
    ...(segments ? { segments: segments.total, longest: segments.longest } : {}),
    earliest: hours?.earliest ?? null,
    latest: hours?.latest ?? null,
  };
}

/**
 * The campaign's own pace is for all its channels together; each sender's limit is for its channel, in
 * messages or, for SMS, in segments. The channels go side by side, so the slowest of these decides. The waits
 * of a release come on top. Not known beforehand are the length of calls, the speed of a provider and, with
 * fallback, how many contacts reach the next channel and when.
 */
function durationOf(
  workspaceId: string,
  { options }: CampaignContent,
  settings: Partial<Record<Channel, ChannelSettings>>,
  surveys: Partial<Record<Channel, AudienceSurvey>>,
  senderRate: SenderRate | undefined,
): number | null {
  if (options.strategy === 'fallback') return null;
  const seconds: number[] = [];
  let recipients = 0;
  for (const channel of CHANNELS) {
    const survey = surveys[channel];
    const from = settings[channel]?.from;
    if (!survey || from === undefined) continue;
    recipients += survey.recipients;
    const rate = senderRate?.({ workspaceId, channel, from });
    if (rate !== undefined) seconds.push((survey.segments?.total ?? survey.recipients) / rate);
  }
  const pace = options.delivery?.ratePerSecond;
  if (pace !== undefined) seconds.push(recipients / pace);
  // How many contacts have a recipient on any channel is not counted; those of the largest channel are some of them.
  const contacts = Math.max(0, ...Object.values(surveys).map((survey) => survey.recipients));
  const waits = options.release ? waitsSeconds(options.release, contacts) : 0;
  if (seconds.length === 0) return waits > 0 ? waits : null;
  return Math.ceil(Math.max(...seconds)) + waits;
}
