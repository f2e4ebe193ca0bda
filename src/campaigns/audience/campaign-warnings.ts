import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import type { FieldCode } from '../../domain/field-codes';
import { LIMITS } from '../../domain/limits';
import type { WorkspacePolicy } from '../../domain/policy';
import { measureSms } from '../../domain/sms-encoding';
import { compileText } from '../../domain/template';
import { phonePrefix } from '../../domain/time-zones/phone-zones';
import { runStart } from '../../domain/time-zones/recipient-hours';
import { isIanaZone } from '../../domain/time-zones/wall-time';
import type { ValidationIssue } from '../../domain/validation-issue';
import { otherDocuments } from '../../domain/voice/call-documents';
import { runnableProgram } from '../../domain/voice/parse-voice-xml';
import { contactById } from '../contacts/contact-by-id';
import { audienceLists, type CampaignContent } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import type { AudienceSurvey, PlaceCount } from './audience-survey';
import { UNKNOWN_PLACE } from './audience-time-zones';
import { type ForecastHours, forecastHours, NIGHT_TEXT } from './forecast-hours';
import { quietWarnings } from './policy-warnings';

/** Warnings about a campaign that is possible but perhaps not meant (api.md 7). They change nothing. */

/** Warn from this share of skipped contacts, because it is rarely skipped on purpose. */
const SKIPPED_SHARE = 0.1;

/** Warnings that need no read of all contacts. */
export async function creationWarnings(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  content: CampaignContent,
  of: { smsText: string | undefined; now: number; policy?: WorkspacePolicy | undefined },
): Promise<ValidationIssue[]> {
  const { smsText, now, policy } = of;
  const warnings = [...startWarnings(content), ...(await exclusionWarnings(db, workspaceId, content))];
  for (const channel of inOrder(content.channels)) {
    const { sample, isWhole } = await samplePlaces(db, workspaceId, audienceLists(content), channel);
    const people = sample.reduce((sum, { recipients }) => sum + recipients, 0);
    if (people === 0) {
      const what = channel === 'email' ? 'an email address' : 'a phone number';
      warnings.push(warning(channel, 'no_recipients', `No contact of the lists has ${what}`));
    }
    const whole = isWhole ? '' : 'the first ';
    const hours = forecastHours({ ...content.options, policy }, channel, sample, now);
    warnings.push(...hourWarnings(channel, hours, `${whole}${people} contacts`));
    warnings.push(...quietWarnings(channel, hours, `${whole}${people} contacts`));
  }
  const { segments } = measureSms(compileText(smsText ?? '', 'none').render({}));
  if (content.channels.includes('sms') && segments > 1) {
    warnings.push(
      warning('sms', 'several_segments', `The text takes ${segments} segments before any value is filled in`),
    );
  }
  return warnings;
}

/** Warnings that the whole audience gives. */
export function surveyWarnings(
  content: CampaignContent,
  surveys: Partial<Record<Channel, AudienceSurvey>>,
  hours: Partial<Record<Channel, ForecastHours>>,
): ValidationIssue[] {
  const warnings = startWarnings(content);
  for (const channel of inOrder(content.channels)) {
    const survey = surveys[channel];
    if (!survey) continue;
    const { contacts, recipients, skipped, segments } = survey;
    if (recipients === 0) {
      warnings.push(warning(channel, 'no_recipients', `None of ${contacts} contacts would be a recipient`));
    }
    if (contacts - recipients > contacts * SKIPPED_SHARE) {
      const why = Object.entries(skipped).flatMap(([reason, count]) => (count ? [`${reason} ${count}`] : []));
      const text = `${contacts - recipients} of ${contacts} contacts are left out: ${why.join(', ')}`;
      warnings.push(warning(channel, 'many_skipped', text));
    }
    if (segments && segments.longest > 1) {
      const text = `${segments.several} of ${recipients} messages take more than one segment, the longest ${segments.longest}`;
      warnings.push(warning(channel, 'several_segments', text));
    }
    const forecast = hours[channel];
    if (forecast) warnings.push(...hourWarnings(channel, forecast, `${recipients} recipients`));
  }
  return warnings;
}

/** Problems of another document only warn: they refuse no campaign, and the document may change while it runs. */
export function otherDocumentWarnings(document: string | undefined): ValidationIssue[] {
  const program = document === undefined ? undefined : runnableProgram(document);
  const others = program ? otherDocuments(program) : [];
  if (others.length === 0) return [];
  const where = others.length === 1 ? 'another document' : `${others.length} other documents`;
  const text = `Calls may go on with ${where}, read in the call only: ${others.join(', ').slice(0, 200)}`;
  return [warning('voice', 'other_document', text)];
}

function hourWarnings(channel: Channel, { late, atNight }: ForecastHours, all: string): ValidationIssue[] {
  const warnings: ValidationIssue[] = [];
  if (late > 0) {
    const text = `The hour has passed already for ${late} of ${all}: they are sent to at once`;
    warnings.push(warning(channel, 'local_start_in_past', text));
  }
  if (atNight > 0) {
    const text = `It is night (${NIGHT_TEXT}) for ${atNight} of ${all} when they are due; delivery.quietHours would wait for the morning`;
    warnings.push(warning(channel, 'night', text));
  }
  return warnings;
}

/** Who was reached is known by the recipients of a run, which retention deletes. */
export async function exclusionWarnings(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { options }: CampaignContent,
): Promise<ValidationIssue[]> {
  const ids = options.exclude?.campaignIds ?? [];
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select distinct campaign_id as id from runs
    where workspace_id = ${workspaceId} and campaign_id = any(${ids}::text[]) and recipients_deleted_at is not null`.execute(
    db,
  );
  const emptied = new Set(rows.map(({ id }) => id));
  const message = 'Recipients of this campaign were deleted after their time: they are not left out';
  return ids.flatMap((id, i): ValidationIssue[] =>
    emptied.has(id)
      ? [{ path: `exclude.campaignIds.${i}`, code: 'exclusion_deleted', message, severity: 'warning' }]
      : [],
  );
}

function startWarnings({ options }: CampaignContent): ValidationIssue[] {
  const startAt = runStart(options);
  // With recipients' local time, the forecast counts the recipients whose hour is over.
  if (startAt === undefined || startAt > databaseNow() || options.schedule?.recipientLocal) return [];
  const message = 'This is in the past: started, the campaign sends at once';
  return [{ path: 'schedule.startAt', code: 'start_in_past', message, severity: 'warning' }];
}

const warning = (channel: Channel, code: FieldCode, message: string): ValidationIssue => ({
  path: `settings.${channel}`,
  code,
  message,
  severity: 'warning',
});

const inOrder = (channels: readonly Channel[]) => CHANNELS.filter((channel) => channels.includes(channel));

/**
 * Time zones of some contacts with an address, each counted once. Stops at a sufficient number of members of lists, so
 * that large lists cost no more; `isWhole` says that there were no more.
 */
async function samplePlaces(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  listIds: string[],
  channel: Channel,
): Promise<{ sample: PlaceCount[]; isWhole: boolean }> {
  const address = channel === 'email' ? sql.ref('c.email') : sql.ref('c.phone');
  const { rows } = await sql<{ id: string; timezone: string | null; phone: string | null }>`
    select c.id, c.timezone, c.phone from contact_list_members m cross join lateral ${contactById(sql`m.contact_id`)} c
    where m.list_id = any(${listIds}::text[]) and c.workspace_id = ${workspaceId} and ${address} is not null
    limit ${sql.lit(LIMITS.warningSample)}`.execute(db);
  const contacts = new Map(rows.map((row) => [row.id, row]));
  const places = new Map<string, number>();
  for (const { timezone, phone } of contacts.values()) {
    const stated = timezone !== null && isIanaZone(timezone) ? timezone : undefined;
    const place = stated ?? phonePrefix(phone ?? '') ?? UNKNOWN_PLACE;
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const sample = [...places].map(([place, recipients]) => ({ place, recipients }));
  return { sample, isWhole: rows.length < LIMITS.warningSample };
}
