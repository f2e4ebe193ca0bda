import type { Readable } from 'node:stream';
import { type Kysely, sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import { newId } from '../../storage/new-id';
import { likePattern } from '../model/like-pattern';
import type { CampaignTables } from '../model/tables';
import { createContactRoom, requireRoom } from '../model/workspace-room';
import { type ImportRow, type ImportTarget, importContacts } from './contact-import';
import { type ContactView, viewOfContact } from './contact-view';
import { type ListKey, lockContacts, requireList, upsertContacts } from './contacts';
import { readCsvRows } from './uploaded-rows';

export interface ContactList {
  id: string;
  name: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface ContactListCounts {
  contacts: number;
  withEmail: number;
  withPhone: number;
}

type Db = Kysely<CampaignTables>;

export type ContactLists = ReturnType<typeof createContactLists>;

/** Contact lists and their contacts, as the API offers them (api.md 6). */
export function createContactLists({ db }: { db: Db }) {
  const room = createContactRoom(db);
  const into = (list: ListImport): ImportTarget => {
    room.require(list.workspaceId);
    return { country: list.country, store: (batch) => upsertContacts(db, list, batch) };
  };
  return {
    /** A list with this id was created by an earlier attempt at the same call. */
    async create(workspaceId: string, input: { name: string }, id = newId('lst')) {
      await requireRoom(db, workspaceId, 'contact_lists');
      return createList(db, { workspaceId, listId: id }, input);
    },
    list: (workspaceId: string, page: ListPage) => listLists(db, workspaceId, page),
    read: (list: ListKey) => readList(db, list),
    rename: (list: ListKey, input: { name: string }) => renameList(db, list, input),
    delete: (list: ListKey) => deleteList(db, list),
    /** Fails for a list that the workspace does not have, before any of an upload is read. */
    require: (list: ListKey) => requireList(db, list),
    importCsv: async (list: ListImport, source: Readable) => importContacts(into(list), readCsvRows(source)),
    importRows: async (list: ListImport, rows: Iterable<ImportRow>) => importContacts(into(list), rows),
    contacts: (list: ListKey, page: MemberPage) => listMembers(db, list, page),
    removeContact: (list: ListKey, contactId: string) => removeMember(db, list, contactId),
  };
}

/** The list that an import goes into, and the country of phone numbers without a country code. */
interface ListImport extends ListKey, Pick<ImportTarget, 'country'> {}

interface ListPage {
  page: number;
  limit: number;
  search?: string | undefined;
}

async function createList(db: Db, list: ListKey, input: { name: string }): Promise<ContactList> {
  const inserted = await db
    .insertInto('contact_lists')
    .values({ id: list.listId, workspace_id: list.workspaceId, name: input.name })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (inserted) return shown(inserted);
  const { id, name, createdAt, updatedAt } = await readList(db, list);
  return { id, name, createdAt, updatedAt };
}

/** Newest first. */
async function listLists(
  db: Db,
  workspaceId: string,
  page: ListPage,
): Promise<{ lists: ContactList[]; total: number }> {
  let query = db.selectFrom('contact_lists').where('workspace_id', '=', workspaceId);
  if (page.search) query = query.where('name', 'ilike', likePattern(page.search));
  const rows = await query
    .selectAll()
    .orderBy('id', 'desc')
    .offset((page.page - 1) * page.limit)
    .limit(page.limit)
    .execute();
  const { total } = await query
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { lists: rows.map(shown), total };
}

async function readList(
  db: Db,
  { workspaceId, listId }: ListKey,
): Promise<ContactList & { counts: ContactListCounts }> {
  const row = await db
    .selectFrom('contact_lists')
    .selectAll()
    .where('id', '=', listId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (!row) throw unknownList(listId);
  const { rows } = await sql<ContactListCounts>`
    select count(*)::int as contacts, count(c.email)::int as "withEmail", count(c.phone)::int as "withPhone"
    from contact_list_members m join contacts c on c.id = m.contact_id
    where m.list_id = ${listId}`.execute(db);
  return { ...shown(row), counts: rows[0] ?? { contacts: 0, withEmail: 0, withPhone: 0 } };
}

async function renameList(
  db: Db,
  { workspaceId, listId }: ListKey,
  input: { name: string },
): Promise<ContactList> {
  const row = await db
    .updateTable('contact_lists')
    .set({ name: input.name, updated_at: sql<Date>`now()` })
    .where('id', '=', listId)
    .where('workspace_id', '=', workspaceId)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw unknownList(listId);
  return shown(row);
}

/** Deletes a list and the contacts that are in no other list. Refused while a live campaign uses it. */
async function deleteList(db: Db, { workspaceId, listId }: ListKey): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockContacts(tx, workspaceId);
    // Also waits for a campaign that is being created over this list, and for an import into it.
    const { rows } = await sql`
      select 1 from contact_lists where id = ${listId} and workspace_id = ${workspaceId} for update`.execute(
      tx,
    );
    if (rows.length === 0) throw unknownList(listId);
    await refuseIfUsed(tx, { workspaceId, listId });
    await sql`
      with gone as (delete from contact_list_members where list_id = ${listId} returning contact_id)
      delete from contacts c using gone
      where c.id = gone.contact_id and not exists (
        select 1 from contact_list_members m where m.contact_id = c.id and m.list_id <> ${listId})`.execute(
      tx,
    );
    await sql`delete from contact_lists where id = ${listId}`.execute(tx);
  });
}

/** A draft does not hold its lists; starting it checks that they still exist. */
async function refuseIfUsed(
  tx: Transaction<CampaignTables>,
  { workspaceId, listId }: ListKey,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select c.id from campaigns c left join runs r on r.id = c.current_run
    where c.workspace_id = ${workspaceId} and ${listId} = any(c.contact_list_ids)
      and (c.stage in ('scheduled', 'held')
        or (c.stage in ('started', 'canceled') and r.phase in ('planning', 'running', 'finishing')))
    limit 1`.execute(tx);
  const user = rows[0];
  if (!user) return;
  throw new DomainError(
    'list_in_use',
    `List ${listId} is used by campaign ${user.id}, which is live; wait for its end, or cancel it`,
  );
}

function unknownList(listId: string): DomainError {
  return notInWorkspace(`contact list ${listId}`, '/api/contact-list');
}

function shown(row: { id: string; name: string; created_at: Date; updated_at: Date }): ContactList {
  return { id: row.id, name: row.name, createdAt: row.created_at, updatedAt: row.updated_at };
}

interface MemberPage {
  cursor?: string | undefined;
  limit: number;
  search?: string | undefined;
  /** The caller may not know addresses, so that a search compares names and external ids alone. */
  hidesAddresses?: boolean | undefined;
}

/** One page of a list's contacts, oldest first; `next` is the cursor of the following page. */
async function listMembers(
  db: Kysely<CampaignTables>,
  list: ListKey,
  page: MemberPage,
): Promise<{ contacts: ContactView[]; next: string | null }> {
  let query = db
    .selectFrom('contact_list_members as m')
    .innerJoin('contacts as c', 'c.id', 'm.contact_id')
    .selectAll('c')
    .where('m.list_id', '=', list.listId)
    .where('c.workspace_id', '=', list.workspaceId)
    .orderBy('m.contact_id')
    .limit(page.limit + 1);
  if (page.cursor !== undefined) query = query.where('m.contact_id', '>', page.cursor);
  if (page.search) {
    const pattern = likePattern(page.search);
    const addresses = page.hidesAddresses ? [] : (['email', 'phone'] as const);
    // Addresses also stand in names and external ids.
    if (page.hidesAddresses) query = query.where(sql<boolean>`concat(c.name, c.external_id) !~ '[@+]'`);
    query = query.where((eb) =>
      eb.or(
        (['name', 'external_id', ...addresses] as const).map((field) => eb(`c.${field}`, 'ilike', pattern)),
      ),
    );
  }
  const rows = await query.execute();
  const contacts = rows.slice(0, page.limit).map(viewOfContact);
  return { contacts, next: rows.length > page.limit ? (contacts.at(-1)?.id ?? null) : null };
}

/**
 * Takes a contact out of a list. A contact in no other list is deleted, because no page of the API would show
 * it any more.
 */
async function removeMember(db: Kysely<CampaignTables>, list: ListKey, contactId: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockContacts(tx, list.workspaceId);
    await requireList(tx, list);
    const { numDeletedRows } = await tx
      .deleteFrom('contact_list_members')
      .where('list_id', '=', list.listId)
      .where('contact_id', '=', contactId)
      .executeTakeFirst();
    if (numDeletedRows === 0n)
      throw new DomainError(
        'not_found',
        `No contact ${contactId} in list ${list.listId}; GET /api/contact-list/${list.listId}/contacts lists its contacts`,
      );
    await sql`
      delete from contacts c where id = ${contactId} and workspace_id = ${list.workspaceId}
        and not exists (select 1 from contact_list_members m where m.contact_id = c.id)`.execute(tx);
  });
}
