import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { likePattern } from '../model/like-pattern';
import type { CampaignTables } from '../model/tables';
import { type ContactView, viewOfContact } from './contact-view';
import { type ListKey, lockContacts, requireList } from './contacts';

export interface MemberPage {
  cursor?: string | undefined;
  limit: number;
  search?: string | undefined;
  /** The caller may not know addresses, so that a search compares names and external ids alone. */
  hidesAddresses?: boolean | undefined;
}

/** One page of a list's contacts, oldest first; `next` is the cursor of the following page. */
export async function listMembers(
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
export async function removeMember(
  db: Kysely<CampaignTables>,
  list: ListKey,
  contactId: string,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockContacts(tx, list.workspaceId);
    await requireList(tx, list);
    const { numDeletedRows } = await tx
      .deleteFrom('contact_list_members')
      .where('list_id', '=', list.listId)
      .where('contact_id', '=', contactId)
      .executeTakeFirst();
    if (numDeletedRows === 0n)
      throw new DomainError('not_found', `No contact ${contactId} in list ${list.listId}`);
    await sql`
      delete from contacts c where id = ${contactId} and workspace_id = ${list.workspaceId}
        and not exists (select 1 from contact_list_members m where m.contact_id = c.id)`.execute(tx);
  });
}
