import { type Kysely, sql, type Transaction } from 'kysely';
import { newId } from '../../storage/new-id';
import {
  batchesOf,
  type ImportReport,
  type ImportRow,
  type ImportTarget,
  importContacts,
} from '../contacts/contact-import';
import type { ContactRow } from '../contacts/contact-row';
import { type ListKey, lockContacts, roundsOf, type UpsertCounts, upsertRound } from '../contacts/contacts';
import { lockCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { requireEditable } from './editable';

/**
 * Recipients that a campaign's request contains (api.md 19). They are contacts of the workspace and members of
 * a list that has an id and no row in `contact_lists`. Freezing and dry runs read it like any list, and no
 * endpoint shows it. Their params belong to the membership, so that two campaigns may give the same contact
 * different values.
 */
export interface OwnAudience {
  listId: string | null;
  members: number;
}

type Tx = Transaction<CampaignTables>;

/** Stores the rows under a new id. The caller writes the id to the campaign in the same transaction. */
export async function storeOwnAudience(
  tx: Tx,
  workspaceId: string,
  rows: readonly ContactRow[],
): Promise<OwnAudience> {
  // Take the lock even without rows: a replaced audience is deleted under it, and it must come before the
  // campaign's lock.
  await lockContacts(tx, workspaceId);
  if (rows.length === 0) return { listId: null, members: 0 };
  const listId = newId('lst');
  let members = 0;
  for (const batch of batchesOf(rows)) members += (await joinRows(tx, { workspaceId, listId }, batch)).joined;
  return { listId, members };
}

/**
 * Adds rows as they arrive, in batches, until the campaign has started. Each batch is a transaction that locks
 * the campaign. A start thus sees either a whole batch, or refuses it with `campaign_started`. A batch that changes
 * the audience takes an approval back: counting at the freeze would not notice that members have other params.
 */
export async function appendRecipients(
  db: Kysely<CampaignTables>,
  { workspaceId, campaignId, country }: Pick<ImportTarget, 'country'> & CampaignKey,
  rows: AsyncIterable<ImportRow> | Iterable<ImportRow>,
): Promise<ImportReport> {
  const store = (batch: readonly ContactRow[]) =>
    db.transaction().execute(async (tx) => {
      await lockContacts(tx, workspaceId);
      const campaign = await lockCampaign(tx, workspaceId, campaignId);
      await requireEditable(tx, campaign);
      const listId = campaign.ownListId ?? newId('lst');
      const { joined, changed, ...counts } = await joinRows(tx, { workspaceId, listId }, batch);
      await sql`
        update campaigns set own_list_id = ${listId}, own_members = own_members + ${joined}, updated_at = now(),
          approval = case when ${joined + changed > 0}::bool then null else approval end
        where id = ${campaignId} and workspace_id = ${workspaceId}`.execute(tx);
      return counts;
    });
  return importContacts({ country, store }, rows);
}

interface CampaignKey {
  workspaceId: string;
  campaignId: string;
}

/** Fails if the workspace has no such campaign, or if it has started, before any of an upload is read. */
export async function requireAppendable(
  db: Kysely<CampaignTables>,
  { workspaceId, campaignId }: CampaignKey,
): Promise<void> {
  await db
    .transaction()
    .execute(async (tx) => requireEditable(tx, await lockCampaign(tx, workspaceId, campaignId)));
}

/** One statement, under the lock that keeps contacts from being deleted while they are added. */
export async function copyOwnAudience(tx: Tx, from: string): Promise<OwnAudience> {
  const listId = newId('lst');
  const { numAffectedRows = 0n } = await sql`
    insert into contact_list_members (list_id, contact_id, params)
    select ${listId}, contact_id, params from contact_list_members where list_id = ${from}`.execute(tx);
  return { listId, members: Number(numAffectedRows) };
}

/** Also deletes the contacts that are in no other list and no other audience, as when a list is deleted. */
export async function dropOwnAudience(tx: Tx, listId: string): Promise<void> {
  await sql`
    with gone as (delete from contact_list_members where list_id = ${listId} returning contact_id)
    delete from contacts c using gone
    where c.id = gone.contact_id and not exists (
      select 1 from contact_list_members m where m.contact_id = c.id and m.list_id <> ${listId})`.execute(tx);
}

/** `changed` counts members that got other params. */
interface Joined {
  joined: number;
  changed: number;
}

/** `joined` counts new members. The other counts are of contacts, as for an import. */
async function joinRows(tx: Tx, list: ListKey, rows: readonly ContactRow[]): Promise<UpsertCounts & Joined> {
  const counts = { created: 0, updated: 0, unchanged: 0, joined: 0, changed: 0 };
  for (const round of roundsOf(rows)) {
    const plain = round.map((row) => ({ ...row, params: {} }));
    const { created, updated } = await upsertRound(tx, list.workspaceId, plain);
    counts.created += created;
    counts.updated += updated;
    counts.unchanged += round.length - created - updated;
    const { joined, changed } = await joinRound(tx, list, round);
    counts.joined += joined;
    counts.changed += changed;
  }
  return counts;
}

/** An existing member takes the params that the row gives and keeps the others. */
async function joinRound(
  tx: Tx,
  { workspaceId, listId }: ListKey,
  rows: readonly ContactRow[],
): Promise<Joined> {
  const { rows: found } = await sql<Joined>`
    with given as (
      select * from unnest(
        ${rows.map((row) => row.identity)}::text[],
        ${rows.map(({ params }) => (Object.keys(params).length > 0 ? JSON.stringify(params) : null))}::text[]
      ) as row (identity, params)
    ), stored as (
      insert into contact_list_members as m (list_id, contact_id, params)
      select ${listId}, c.id, given.params::jsonb
      from given cross join lateral (
        select id from contacts where workspace_id = ${workspaceId} and identity = given.identity limit 1
      ) c
      on conflict (list_id, contact_id) do update
      -- Other values make another recipient of them: an approval of the former no longer holds (approval/digest.ts).
      set params = coalesce(m.params, '{}') || excluded.params, added_at = excluded.added_at
      where excluded.params is not null
        and (m.params is null or m.params || excluded.params is distinct from m.params)
      returning m.xmax = 0 as is_new
    )
    -- A row version that replaced none has no xmax.
    select count(*) filter (where is_new)::int as joined, count(*) filter (where not is_new)::int as changed
    from stored`.execute(tx);
  return found[0] ?? { joined: 0, changed: 0 };
}
