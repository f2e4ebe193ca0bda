import { type Kysely, sql, type Transaction } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { newId } from '../../storage/new-id';
import type { CampaignTables } from '../model/tables';
import { type ContactKey, readContact } from './change-contact';
import type { ContactView } from './contact-view';
import { lockContacts } from './contacts';

/** Suppresses the addresses of a person who is erased; the list belongs to the messaging half. */
export type SuppressErased = (
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  addresses: readonly string[],
) => Promise<void>;

/** A person who is being erased, as far as it has not been done. */
export interface Erasure extends Erased {
  id: string;
  contactId: string;
}

/**
 * Begins to erase a person: the contact is gone, and nothing more is sent to their addresses, before this answers. What
 * else is known of them is written down as work (app/erasures.ts), in the same transaction, so that a process that dies
 * leaves it to the next. Repeated, it answers with the same erasure.
 * Throws `not_found`.
 */
export async function eraseContact(
  db: Kysely<CampaignTables>,
  key: ContactKey,
  suppress: SuppressErased,
): Promise<{ id: string; contactId: string }> {
  const { workspaceId, contactId } = key;
  return db.transaction().execute(async (tx) => {
    await lockContacts(tx, workspaceId);
    const known = await tx
      .selectFrom('erasures')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('contact_id', '=', contactId)
      .executeTakeFirst();
    if (known) return { id: known.id, contactId };
    const contact = await readContact(tx, key);
    const addresses = await addressesOf(tx, contact, contactId);
    const words = contact.name ? [contact.name.toLowerCase()] : [];
    const id = newId('era');
    await tx
      .insertInto('erasures')
      .values({ id, workspace_id: workspaceId, contact_id: contactId, addresses, words })
      .execute();
    await suppress(tx, workspaceId, addresses);
    await sql`delete from contact_list_members where contact_id = ${contactId}`.execute(tx);
    await sql`delete from contacts where id = ${contactId} and workspace_id = ${workspaceId}`.execute(tx);
    await forgetElsewhere(tx, workspaceId, addresses);
    return { id, contactId };
  });
}

/** Those of now and those that runs were frozen with; email addresses in lower case as well, as most records have them. */
async function addressesOf(
  tx: Transaction<CampaignTables>,
  { email, phone }: ContactView,
  contactId: string,
): Promise<string[]> {
  const { rows } = await sql<{ address: string }>`
    select distinct address from recipients where contact_id = ${contactId} and address is not null
    union select distinct address from skipped_contacts where contact_id = ${contactId} and address is not null`.execute(
    tx,
  );
  const all = [email, phone, ...rows.map(({ address }) => address)].filter((one) => one !== null);
  return [...new Set(all.flatMap((one) => [one, one.toLowerCase()]))];
}

/**
 * Other contacts with one of the addresses lose it: another may share a telephone, and stays. One that has no address
 * left, or is known by it, is gone too.
 */
async function forgetElsewhere(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  addresses: readonly string[],
): Promise<void> {
  const keys = addresses.map((one) => one.toLowerCase());
  const has = (column: 'email' | 'phone') =>
    column === 'email'
      ? sql`lower(c.email collate "C") = any(${keys}::text[])`
      : sql`(c.phone collate "C") = any(${[...addresses]}::text[])`;
  const gone = sql<{ id: string }>`
    select c.id from contacts c where c.workspace_id = ${workspaceId} and (
      lower(c.identity collate "C") = any(${keys.flatMap((one) => [`e:${one}`, `p:${one}`])}::text[])
      or ((${has('email')} and c.email is not null and left(c.identity, 2) <> 'e:') and c.phone is null)
      or ((${has('phone')} and c.phone is not null and left(c.identity, 2) <> 'p:') and c.email is null))`;
  const { rows } = await gone.execute(tx);
  const ids = rows.map(({ id }) => id);
  await sql`delete from contact_list_members where contact_id = any(${ids}::text[])`.execute(tx);
  await sql`delete from contacts where id = any(${ids}::text[]) and workspace_id = ${workspaceId}`.execute(
    tx,
  );
  await sql`update contacts c set email = null, updated_at = now()
    where c.workspace_id = ${workspaceId} and ${has('email')} and c.email is not null and left(c.identity, 2) <> 'e:'`.execute(
    tx,
  );
  await sql`update contacts c set phone = null, updated_at = now()
    where c.workspace_id = ${workspaceId} and ${has('phone')} and c.phone is not null and left(c.identity, 2) <> 'p:'`.execute(
    tx,
  );
}
