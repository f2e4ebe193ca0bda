import { type Kysely, sql, type Transaction } from 'kysely';
import { notInWorkspace } from '../../domain/not-in-workspace';
import { newId } from '../../storage/new-id';
import type { CampaignTables } from '../model/tables';
import type { ContactRow } from './contact-row';

export interface ListKey {
  workspaceId: string;
  listId: string;
}

export interface UpsertCounts {
  created: number;
  updated: number;
  unchanged: number;
}

/**
 * Stores a batch of contacts and makes them members of a list, in one transaction. An existing contact takes
 * the fields and params that the row gives and keeps the others, because an empty cell means that no value was
 * given. The counts are the same as if the rows were stored one by one.
 */
export async function upsertContacts(
  db: Kysely<CampaignTables>,
  list: ListKey,
  rows: readonly ContactRow[],
): Promise<UpsertCounts> {
  const counts = { created: 0, updated: 0, unchanged: 0 };
  if (rows.length === 0) return counts;
  await db.transaction().execute(async (tx) => {
    await lockContacts(tx, list.workspaceId);
    await requireList(tx, list);
    for (const round of roundsOf(rows)) {
      const { created, updated } = await upsertRound(tx, list.workspaceId, round);
      counts.created += created;
      counts.updated += updated;
      counts.unchanged += round.length - created - updated;
    }
    await sql`
      insert into contact_list_members (list_id, contact_id)
      select ${list.listId}, id from contacts
      where workspace_id = ${list.workspaceId} and identity = any(${rows.map((row) => row.identity)}::text[])
      on conflict do nothing`.execute(tx);
  });
  return counts;
}

/**
 * Makes changes to a workspace's contacts take turns. Otherwise two imports of the same people would lock the
 * same rows in different orders. And deleting a contact that is in no list any more could miss a list that
 * another transaction is just adding it to.
 */
export async function lockContacts(tx: Transaction<CampaignTables>, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`contacts:${workspaceId}`}, 0))`.execute(tx);
}

/** Fails if the workspace has no such list. Within a transaction, the list cannot be deleted until the end. */
export async function requireList(db: Kysely<CampaignTables>, list: ListKey): Promise<void> {
  const { rows } = await sql`
    select 1 from contact_lists
    where id = ${list.listId} and workspace_id = ${list.workspaceId} for share`.execute(db);
  if (rows.length === 0) throw notInWorkspace(`contact list ${list.listId}`, '/api/contact-list');
}

/** One statement may touch a row only once, so the n-th row of an identity goes into the n-th round. */
export function roundsOf(rows: readonly ContactRow[]): ContactRow[][] {
  const rounds: ContactRow[][] = [];
  const seen = new Map<string, number>();
  for (const row of rows) {
    const before = seen.get(row.identity) ?? 0;
    seen.set(row.identity, before + 1);
    const round = rounds[before];
    if (round) round.push(row);
    else rounds.push([row]);
  }
  return rounds;
}

export async function upsertRound(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  rows: readonly ContactRow[],
): Promise<{ created: number; updated: number }> {
  // Ids in the order of the rows: audiences are numbered by id, and thus follow the file's order.
  const ids = rows.map(() => newId('con')).sort();
  const result = await sql<{ created: number; updated: number }>`
    with given as (
      select * from unnest(
        ${ids}::text[],
        ${rows.map((row) => row.identity)}::text[],
        ${rows.map((row) => row.externalId)}::text[],
        ${rows.map((row) => row.name)}::text[],
        ${rows.map((row) => row.email)}::text[],
        ${rows.map((row) => row.phone)}::text[],
        ${rows.map((row) => row.timezone)}::text[],
        ${rows.map((row) => row.locale)}::text[],
        ${rows.map((row) => JSON.stringify(row.params))}::text[]
      ) as row (id, identity, external_id, name, email, phone, timezone, locale, params)
    ), stored as (
      insert into contacts as c
        (id, workspace_id, identity, external_id, name, email, phone, timezone, locale, params)
      select id, ${workspaceId}, identity, external_id, name, email, phone, timezone, locale, params::jsonb
      from given
      on conflict (workspace_id, identity) do update set
        name = coalesce(excluded.name, c.name),
        email = coalesce(excluded.email, c.email),
        phone = coalesce(excluded.phone, c.phone),
        timezone = coalesce(excluded.timezone, c.timezone),
        locale = coalesce(excluded.locale, c.locale),
        params = c.params || excluded.params,
        updated_at = now()
      where (coalesce(excluded.name, c.name), coalesce(excluded.email, c.email),
             coalesce(excluded.phone, c.phone), coalesce(excluded.timezone, c.timezone),
             coalesce(excluded.locale, c.locale), c.params || excluded.params)
        is distinct from (c.name, c.email, c.phone, c.timezone, c.locale, c.params)
      returning c.id
    )
    -- A stored row that carries its new id was inserted; one that nothing would change is not returned.
    select count(given.id)::int as created, (count(*) - count(given.id))::int as updated
    from stored left join given on given.id = stored.id`.execute(tx);
  return result.rows[0] ?? { created: 0, updated: 0 };
}
