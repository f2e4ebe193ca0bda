import { createHash } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { isSameAudience } from '../../domain/approval';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { audienceLists, type CampaignContent, type CampaignRecord } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';

/**
 * What an approval is of: all that a campaign sends and how, with pinned versions, and whom to. The same
 * campaign with the same members has the same digest. It is stored when it is read, because only then is it
 * known how many members came and went since.
 */
export interface TakenDigest {
  digest: string;
  contacts: number;
}

export async function takeDigest(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
): Promise<TakenDigest> {
  const content = contentHash(campaign);
  const { contacts, members, takenAt } = await readAudience(db, campaign);
  const digest = hash([content, contacts, members]);
  await sql`
    insert into campaign_digests (workspace_id, campaign_id, digest, content, contacts, members, taken_at)
    values (${workspaceId}, ${campaign.id}, ${digest}, ${content}, ${contacts}, ${members}, ${takenAt}::timestamptz)
    on conflict (workspace_id, campaign_id, digest) do update set taken_at = excluded.taken_at`.execute(db);
  await sql`
    delete from campaign_digests where workspace_id = ${workspaceId} and campaign_id = ${campaign.id}
      and digest not in (
        select digest from campaign_digests where workspace_id = ${workspaceId} and campaign_id = ${campaign.id}
        order by taken_at desc, digest limit ${LIMITS.campaignDigests})`.execute(db);
  return { digest, contacts };
}

/** Fails with `digest_changed` unless the campaign is what the digest showed; answers the contacts that it was for. */
export async function requireSame(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaign: CampaignRecord,
  digest: string,
): Promise<number> {
  const shown = await tx
    .selectFrom('campaign_digests')
    .select(['content', 'contacts', 'members'])
    .where('workspace_id', '=', workspaceId)
    .where('campaign_id', '=', campaign.id)
    .where('digest', '=', digest)
    .executeTakeFirst();
  if (!shown || shown.content !== contentHash(campaign)) throw digestChanged(campaign);
  const now = await readAudience(tx, campaign);
  if (now.contacts === shown.contacts && now.members === shown.members) return shown.contacts;
  const { rows } = await sql<{ added: number }>`
    select count(*)::int as added from (
      select from contact_list_members m, campaign_digests d
      where m.list_id = any(${audienceLists(campaign)}::text[])
        and d.workspace_id = ${workspaceId} and d.campaign_id = ${campaign.id} and d.digest = ${digest}
      group by m.contact_id, d.taken_at
      having min(m.added_at) > d.taken_at
        or bool_or(m.list_id = ${campaign.ownListId ?? null}::text and m.added_at > d.taken_at)
    ) newer`.execute(tx);
  // A transaction that had begun before the digest was taken gives its members an earlier time.
  const added = Math.max(rows[0]?.added ?? 0, now.contacts - shown.contacts);
  const removed = shown.contacts - (now.contacts - added);
  if (!isSameAudience(shown.contacts, { added, removed })) throw digestChanged(campaign);
  return shown.contacts;
}

/** Digests are of no use any more once one of them is approved. */
export async function forgetDigests(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  campaignId: string,
): Promise<void> {
  await sql`
    delete from campaign_digests where workspace_id = ${workspaceId} and campaign_id = ${campaignId}`.execute(
    tx,
  );
}

/** `members` is the same for the same members with the same params of this campaign, from whichever lists. */
async function readAudience(
  db: Kysely<CampaignTables>,
  content: CampaignContent,
): Promise<{ contacts: number; members: string; takenAt: string }> {
  const { rows } = await sql<{ contacts: number; members: string; takenAt: string }>`
    select count(*)::int as contacts, coalesce(sum(hashtextextended(member, 0)), 0)::text as members,
      now()::text as "takenAt"
    from (
      select contact_id || '.' || coalesce(max(params::text), '') as member from contact_list_members
      where list_id = any(${audienceLists(content)}::text[]) group by contact_id
    ) audience`.execute(db);
  return rows[0] as { contacts: number; members: string; takenAt: string };
}

/** The name says nothing of what is sent. Lists are named by their ids, the own audience is in the members. */
function contentHash({ channels, settings, contactListIds, options }: CampaignContent): string {
  return hash([channels, settings, contactListIds, options]);
}

const hash = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex');

/** JSON with members in one order, because the database keeps them in its own. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

const digestChanged = ({ id, phase }: CampaignRecord) =>
  new DomainError(
    'digest_changed',
    `Campaign ${id} or its audience has changed since this digest was read; read it again`,
    { phase },
  );
