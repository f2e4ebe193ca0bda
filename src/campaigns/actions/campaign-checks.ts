import { type Kysely, sql, type Transaction } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { DomainError, type ErrorCode, type FieldError } from '../../domain/errors';
import { listedBy } from '../../domain/not-in-workspace';
import { isAllowedSender, type WorkspacePolicy } from '../../domain/policy';
import type { ValidationIssue as Warning } from '../../domain/validation-issue';
import { contactOfMember } from '../contacts/contact-by-id';
import { paramValue, requiredNames } from '../contacts/fill-params';
import { audienceLists, type CampaignContent } from '../model/campaign-record';
import type { SenderRule, TemplateFound, TemplateLookup } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { readSettings } from '../runs/runs';

/** Who may be the sender: by the workspace's policy, and because no other workspace has them. */
export interface SenderRules {
  policy?: WorkspacePolicy | undefined;
  senderRule?: SenderRule | undefined;
}

/**
 * Checks that what a campaign refers to exists, and that its templates can be filled: every placeholder has a
 * value for at least one contact of the lists. All problems are reported at once; the first one gives the error
 * its code. Returns the templates.
 */
export async function checkReferences(
  db: Kysely<CampaignTables>,
  templates: TemplateLookup,
  workspaceId: string,
  content: CampaignContent,
  rules: SenderRules = {},
): Promise<Partial<Record<Channel, TemplateFound>>> {
  return checkFound(db, workspaceId, content, await lookUpTemplates(templates, workspaceId, content), rules);
}

/** The lists as a request has them, with those that it repeats, so that a finding names the place in it. */
interface ListsAsGiven {
  listIds?: string[] | undefined;
}

/** The same with templates that were looked up before, because a transaction must not wait for HTTP. */
export async function checkFound(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  content: CampaignContent,
  { findings: ofTemplates, placeholders, byChannel }: TemplatesFound,
  { listIds = content.contactListIds, ...rules }: SenderRules & ListsAsGiven = {},
): Promise<Partial<Record<Channel, TemplateFound>>> {
  const findings = [...ofTemplates, ...refusedSenders(workspaceId, content, rules)];
  findings.push(...(await missingLists(db, workspaceId, listIds)));
  findings.push(...(await missingCampaigns(db, workspaceId, content.options.exclude?.campaignIds ?? [])));
  const unfilled = await unfilledPlaceholders(db, workspaceId, content, [...placeholders.keys()]);
  for (const name of unfilled) {
    findings.push({
      refusal: 'missing_params',
      path: placeholders.get(name) ?? 'params',
      code: 'missing_params',
      message: `No contact of the lists and no param of the campaign has a value for ${name}`,
    });
  }
  refuse(findings);
  return byChannel;
}

const SENDER_FIELD: Record<Channel, string> = { email: 'fromEmail', sms: 'shortCode', voice: 'callerId' };

function refusedSenders(
  workspaceId: string,
  { channels, settings }: CampaignContent,
  { policy, senderRule }: SenderRules,
) {
  const senders = readSettings(settings);
  return channels.flatMap((channel): Finding[] => {
    const from = senders[channel]?.from ?? '';
    const message = isAllowedSender(policy, channel, from)
      ? senderRule?.(workspaceId, { channel, from })
      : `The workspace's policy does not allow this sender of ${channel}`;
    if (message === undefined) return [];
    const path = `settings.${channel}.${SENDER_FIELD[channel]}`;
    return [{ refusal: 'sender_not_allowed', path, code: 'sender_not_allowed', message }];
  });
}

/** Fails with `sender_not_allowed`, as a sender may have been given to another workspace since the campaign was made. */
export function requireSenders(workspaceId: string, content: CampaignContent, rules: SenderRules): void {
  refuse(refusedSenders(workspaceId, content, rules));
}

/** Fails with `no_audience` when a campaign that could never reach a recipient is to start. */
export function requireAudience(id: string, { contactListIds }: CampaignContent, ownMembers: number): void {
  if (contactListIds.length > 0 || ownMembers > 0) return;
  throw new DomainError(
    'no_audience',
    `Campaign ${id} has no contact list and no recipients of its own; give it either before it starts`,
  );
}

/** Fails with `insecure_links` when marketing mail is to start and its links would not be https; `why` says what to do. */
export function requireSecureLinks({ channels, options }: CampaignContent, why: string | undefined): void {
  if (why === undefined || !channels.includes('email') || options.class === 'transactional') return;
  throw new DomainError('insecure_links', `Marketing mail does not start: ${why}`);
}

/**
 * Returns the lists that the workspace does not have. Within a transaction, the others cannot be deleted until
 * its end.
 */
export async function requireLists(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  listIds: string[],
): Promise<void> {
  refuse(await missingLists(tx, workspaceId, listIds));
}

/** A problem of a field, and the code of the error if this is its first problem. */
interface Finding extends FieldError {
  refusal: ErrorCode;
}

function refuse(findings: Finding[]): void {
  const [first, ...others] = findings;
  if (!first) return;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  throw new DomainError(first.refusal, `${first.path}: ${first.message}${more}`, {
    errors: findings.map(({ path, code, message }) => ({ path, code, message })),
  });
}

/** A missing reference is `not_found` at its field, whatever it refers to. */
const notThere = (refusal: ErrorCode, path: string, what: string, list: string): Finding => ({
  refusal,
  path,
  code: 'not_found',
  message: `There is no ${what} in this workspace; ${listedBy(list)}`,
});

export const noTemplate = (channel: Channel, wanted: { templateId: string; version: number }): Finding =>
  notThere(
    'template_not_found',
    `settings.${channel}.templateId`,
    `${channel} template ${wanted.templateId} with version ${wanted.version}`,
    '/api/template',
  );

export interface TemplatesFound {
  findings: Finding[];
  /** What some accounts of the service cannot do. */
  warnings: Warning[];
  /** Each placeholder, with the path of the first template that has it. */
  placeholders: Map<string, string>;
  byChannel: Partial<Record<Channel, TemplateFound>>;
}

export async function lookUpTemplates(
  templates: TemplateLookup,
  workspaceId: string,
  content: CampaignContent,
): Promise<TemplatesFound> {
  const findings: Finding[] = [];
  const placeholders = new Map<string, string>();
  const byChannel: Partial<Record<Channel, TemplateFound>> = {};
  const lookUps = CHANNELS.filter((channel) => content.channels.includes(channel)).map(async (channel) => {
    const wanted = content.settings[channel];
    return {
      channel,
      wanted,
      found: wanted && (await templates.find(workspaceId, channel, wanted.templateId, wanted.version)),
    };
  });
  for (const { channel, wanted, found } of await Promise.all(lookUps)) {
    const path = `settings.${channel}.templateId`;
    for (const name of found?.placeholders ?? []) if (!placeholders.has(name)) placeholders.set(name, path);
    if (found) byChannel[channel] = found;
    if (found || !wanted) continue;
    findings.push(noTemplate(channel, wanted));
  }
  const { errors, warnings } = await impossible(templates, workspaceId, content, byChannel);
  return { findings: [...findings, ...errors], warnings, placeholders, byChannel };
}

const NOT_POSSIBLE = 'not_possible' as const;

/** What the service's carriers cannot do: refused where none of them can, else a warning. */
async function impossible(
  templates: TemplateLookup,
  workspaceId: string,
  { settings, options }: CampaignContent,
  found: Partial<Record<Channel, TemplateFound>>,
): Promise<{ errors: Finding[]; warnings: Warning[] }> {
  const senders = readSettings(settings);
  const asked = CHANNELS.map(async (channel) => {
    const sender = senders[channel];
    if (channel === 'email' || !found[channel] || !sender || !templates.check) return [];
    const told = await templates.check(workspaceId, { ...sender, channel, class: options.class });
    return told.map(({ about, severity, message }) => ({
      path: `settings.${channel}.${about === 'template' ? 'templateId' : SENDER_FIELD[channel]}`,
      ...{ code: NOT_POSSIBLE, message, severity },
    }));
  });
  const all = (await Promise.all(asked)).flat();
  const ofSeverity = (severity: string) => all.filter((one) => one.severity === severity);
  return {
    errors: ofSeverity('error').map(({ severity: _, ...error }) => ({ ...error, refusal: NOT_POSSIBLE })),
    warnings: ofSeverity('warning').map((one) => ({ ...one, severity: 'warning' as const })),
  };
}

export async function missingLists(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  listIds: string[],
): Promise<Finding[]> {
  const { rows } = await sql<{ id: string }>`
    select id from contact_lists
    where workspace_id = ${workspaceId} and id = any(${listIds}::text[]) order by id for share`.execute(db);
  const found = new Set(rows.map((row) => row.id));
  return listIds.flatMap((id, i) =>
    found.has(id)
      ? []
      : [notThere('contact_list_not_found', `contactListId.${i}`, `contact list ${id}`, '/api/contact-list')],
  );
}

/** Campaigns are never deleted, so no lock is needed. */
export async function missingCampaigns(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignIds: string[],
): Promise<Finding[]> {
  if (campaignIds.length === 0) return [];
  const rows = await db
    .selectFrom('campaigns')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', campaignIds)
    .execute();
  const found = new Set(rows.map((row) => row.id));
  return campaignIds.flatMap((id, i) =>
    found.has(id)
      ? []
      : [notThere('campaign_not_found', `exclude.campaignIds.${i}`, `campaign ${id}`, '/api/campaign')],
  );
}

/** Each query stops at the first contact with a value, so that the usual case is quick. */
async function unfilledPlaceholders(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  content: CampaignContent,
  names: string[],
): Promise<string[]> {
  const params = content.options.params ?? {};
  const lists = audienceLists(content);
  // A draft without an audience is not checked; it gets one before its start, which checks again.
  if (lists.length === 0) return [];
  const open = requiredNames(names).filter((name) => params[name] === undefined || params[name] === '');
  if (open.length === 0) return [];
  const unfilled = open.map(
    (name) => sql`
      select ${name}::text as name where not exists (
        select 1 from contact_list_members m cross join lateral ${contactOfMember(sql`m.contact_id`, content.ownListId)} c
        where m.list_id = any(${lists}::text[]) and c.workspace_id = ${workspaceId}
          and ${paramValue(name, {})} is not null)`,
  );
  const { rows } = await sql<{ name: string }>`${sql.join(unfilled, sql` union all `)}`.execute(db);
  return rows.map((row) => row.name);
}
