import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Finding } from '../domain/finding';
import { measureSms } from '../domain/sms-encoding';
import { compileText } from '../domain/template';
import type { AudienceSurvey } from './audience-survey';
import type { CampaignContent } from './campaign-record';
import type { CampaignTables } from './tables';

/** What is told of a campaign that is possible and perhaps not meant (api.md 7). It changes nothing. */

/** A share of the contacts that hardly anybody leaves out on purpose. */
const SKIPPED_SHARE = 0.1;

/** What can be told without looking at every contact. */
export async function creationWarnings(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  content: CampaignContent,
  smsText: string | undefined,
): Promise<Finding[]> {
  const warnings = startWarnings(content);
  for (const channel of inOrder(content.channels)) {
    if (await hasAddress(db, workspaceId, content.contactListIds, channel)) continue;
    const what = channel === 'email' ? 'an email address' : 'a phone number';
    warnings.push(warning(channel, 'no_recipients', `No contact of the lists has ${what}`));
  }
  const { segments } = measureSms(compileText(smsText ?? '', 'none').render({}));
  if (content.channels.includes('sms') && segments > 1) {
    warnings.push(
      warning('sms', 'several_segments', `The text takes ${segments} segments before any value is filled in`),
    );
  }
  return warnings;
}

/** What the whole audience shows. */
export function surveyWarnings(
  content: CampaignContent,
  surveys: Partial<Record<Channel, AudienceSurvey>>,
): Finding[] {
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
  }
  return warnings;
}

function startWarnings({ options }: CampaignContent): Finding[] {
  const startAt = options.schedule?.startAt;
  if (startAt === undefined || Date.parse(startAt) > Date.now()) return [];
  const message = 'This is in the past: started, the campaign sends at once';
  return [{ path: 'schedule.startAt', code: 'start_in_past', message, severity: 'warning' }];
}

const warning = (channel: Channel, code: string, message: string): Finding => ({
  path: `settings.${channel}`,
  code,
  message,
  severity: 'warning',
});

const inOrder = (channels: readonly Channel[]) => CHANNELS.filter((channel) => channels.includes(channel));

/** Ends at the first contact that has one, so that it is quick where it matters. */
async function hasAddress(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  listIds: string[],
  channel: Channel,
): Promise<boolean> {
  const address = channel === 'email' ? sql.ref('c.email') : sql.ref('c.phone');
  const { rows } = await sql`
    select 1 from contact_list_members m join contacts c on c.id = m.contact_id
    where m.list_id = any(${listIds}::text[]) and c.workspace_id = ${workspaceId} and ${address} is not null
    limit 1`.execute(db);
  return rows.length > 0;
}
