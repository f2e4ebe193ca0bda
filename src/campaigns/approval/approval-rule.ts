import { type Kysely, sql, type Transaction } from 'kysely';
import { allowedContacts, approvalRuleOf } from '../../domain/approval';
import { DomainError } from '../../domain/errors';
import type { WorkspacePolicy } from '../../domain/policy';
import type { Finding } from '../../domain/validation-issue';
import { audienceLists, type CampaignContent, type CampaignRecord } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { readPolicy } from '../policy/policy';
import { liveRunsOf } from '../runs/run-rows';

/**
 * Whether a campaign has more contacts than it may be sent to (docs/approval.md). Contacts are the members of all its lists and
 * of its own audience, each once, whatever becomes of them on a channel: more cannot be sent to.
 */
export interface Excess {
  contacts: number;
  allowed: number;
}

type Tx = Transaction<CampaignTables>;

/**
 * By how much a campaign that is created or edited exceeds what needs no approval; undefined when it needs
 * none.
 */
export async function excessOf(
  db: Kysely<CampaignTables>,
  content: CampaignContent,
  policy: WorkspacePolicy | undefined,
): Promise<Excess | undefined> {
  const rule = approvalRuleOf(policy, content.channels);
  if (!rule) return undefined;
  const contacts = await countContacts(db, audienceLists(content));
  return contacts > rule.above ? { contacts, allowed: rule.above } : undefined;
}

/** What is asked of a campaign that may need an approval: `start` begins a run, which will freeze the lists as they are. */
export type Wish = 'start' | 'resume' | 'release' | 'retry';

/** The same for a stored campaign, which may have an approval. */
export async function standingExcess(
  tx: Tx,
  workspaceId: string,
  campaign: CampaignRecord,
  wish: Wish,
): Promise<Excess | undefined> {
  const rule = approvalRuleOf(await readPolicy(tx, workspaceId), campaign.channels);
  if (!rule) return undefined;
  const contacts = await contactsOf(tx, campaign, wish);
  const allowed = allowedContacts(rule, campaign.approval);
  return contacts > allowed ? { contacts, allowed } : undefined;
}

/** Fails with `approval_required` for a campaign that needs an approval, or a new one. */
export async function requireApproval(
  tx: Tx,
  workspaceId: string,
  campaign: CampaignRecord,
  wish: Wish,
): Promise<void> {
  const excess = await standingExcess(tx, workspaceId, campaign, wish);
  if (excess) throw approvalRequired(campaign, excess);
}

/** How many contacts a campaign is for: of the audience that is frozen, or of the lists as they are now. */
export async function contactsOf(tx: Tx, campaign: CampaignRecord, wish: Wish): Promise<number> {
  const runIds = await concernedRuns(tx, campaign, wish);
  const { rows } = await sql<{ contacts: number; frozen: number }>`
    select coalesce(max(walked), 0)::int as contacts, count(finished_at)::int as frozen from audience_freezes
    where run_id = any(${runIds}::text[])`.execute(tx);
  const { contacts = 0, frozen = 0 } = rows[0] ?? {};
  if (runIds.length > 0 && frozen === runIds.length * campaign.channels.length) return contacts;
  return Math.max(contacts, await countContacts(tx, audienceLists(campaign)));
}

/** Runs that go on with it: a run that has ended goes on when it is resumed, or for the recipients that are retried. */
async function concernedRuns(tx: Tx, { id, run, stage }: CampaignRecord, wish: Wish): Promise<string[]> {
  if (wish === 'start') return [];
  const last = run ? [run.id] : [];
  if (wish === 'retry') return last;
  const live = (await liveRunsOf(tx, id)).map((one) => one.id);
  return live.length === 0 && stage === 'started' ? last : live;
}

export async function countContacts(db: Kysely<CampaignTables>, listIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ contacts: number }>`
    select count(distinct contact_id)::int as contacts from contact_list_members
    where list_id = any(${listIds}::text[])`.execute(db);
  return rows[0]?.contacts ?? 0;
}

const approvalRequired = ({ id, phase }: CampaignRecord, { contacts, allowed }: Excess) =>
  new DomainError(
    'approval_required',
    `Campaign ${id} has ${contacts} contacts, and ${allowed} may be sent to without an approval: a person other than its creator must approve it`,
    { phase },
  );

export const approvalWarning = ({ contacts, allowed }: Excess): Finding => ({
  path: 'start',
  code: 'approval_required',
  message: `The campaign has ${contacts} contacts, more than ${allowed}: it stays a draft until another person approves it`,
  severity: 'warning',
});
