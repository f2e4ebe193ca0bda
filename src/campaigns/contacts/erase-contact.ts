import { type Kysely, sql, type Transaction } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { LIMITS } from '../../domain/limits';
import { addressKey } from '../../domain/suppression';
import { newId } from '../../storage/new-id';
import { eraseMailboxes, eraseRecipients } from '../ledger/erase-recipients';
import type { CampaignTables } from '../model/tables';
import { type ContactKey, findContact, noContact } from './change-contact';
import { idsOfSendsTo } from './contact-timeline';
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
 * leaves it to the next. Repeated, it answers with the same erasure. A contact that was deleted with its last list is
 * known by its recipients, who keep its id and address.
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
    const { contact, addresses } = await readPerson(tx, key);
    const words = contact?.name ? [contact.name.toLowerCase()] : [];
    const id = newId('era');
    await tx
      .insertInto('erasures')
      .values({ id, workspace_id: workspaceId, contact_id: contactId, addresses, words })
      .execute();
    await suppress(tx, workspaceId, addresses);
    await leaveLists(tx, workspaceId, [contactId]);
    await sql`delete from contacts where id = ${contactId} and workspace_id = ${workspaceId}`.execute(tx);
    await forgetElsewhere(tx, workspaceId, addresses);
    return { id, contactId };
  });
}

/**
 * A person of whom something is held, also when the contact was deleted with its last list: the contact's present addresses
 * and those that runs were frozen with. Email addresses are also returned in lower case, because most records have them so.
 * Throws `not_found`.
 */
export async function readPerson(
  db: Kysely<CampaignTables>,
  key: ContactKey,
): Promise<{ contact: ContactView | undefined; addresses: string[] }> {
  const { workspaceId, contactId } = key;
  const contact = await findContact(db, key);
  const { rows } = await sql<{ address: string }>`
    select address from recipients r join runs on runs.id = r.run_id
    where r.contact_id = ${contactId} and runs.workspace_id = ${workspaceId} and address is not null
    union select address from skipped_contacts k join runs on runs.id = k.run_id
    where k.contact_id = ${contactId} and runs.workspace_id = ${workspaceId} and address is not null`.execute(
    db,
  );
  const all = [contact?.email, contact?.phone, ...rows.map(({ address }) => address)].flatMap(
    (one) => one ?? [],
  );
  if (!contact && all.length === 0) throw noContact(contactId);
  return { contact, addresses: [...new Set(all.flatMap((one) => [one, one.toLowerCase()]))] };
}

/**
 * Other contacts with one of the addresses lose that address and stay, because two people may share a telephone. A
 * contact that has no address left, or is identified by the address, is deleted.
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
      or ((${has('email')} and c.email is not null and left(c.identity, 2) <> 'e:') and (c.phone is null or ${has('phone')}))
      or ((${has('phone')} and c.phone is not null and left(c.identity, 2) <> 'p:') and c.email is null))`;
  const { rows } = await gone.execute(tx);
  const ids = rows.map(({ id }) => id);
  await leaveLists(tx, workspaceId, ids);
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

/** Campaigns count the recipients of their own, who are on a list too. */
async function leaveLists(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  contactIds: readonly string[],
): Promise<void> {
  await sql`
    with gone as (
      delete from contact_list_members where contact_id = any(${[...contactIds]}::text[]) returning list_id
    ), fewer as (select list_id, count(*)::int as members from gone group by list_id)
    update campaigns set own_members = own_members - fewer.members
    from fewer where campaigns.own_list_id = fewer.list_id and campaigns.workspace_id = ${workspaceId}`.execute(
    tx,
  );
}

/** Some erasures that are not done, oldest first, after the one that is given. */
export async function openErasures(
  db: Kysely<CampaignTables>,
  after: string,
): Promise<(Erasure & { ageMs: number })[]> {
  const { rows } = await sql<Erasure & { ageMs: number }>`
    select id, workspace_id as "workspaceId", contact_id as "contactId", addresses, words,
      (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs"
    from erasures where done_at is null and id > ${after} order by id limit ${LIMITS.erasuresAtOnce}`.execute(
    db,
  );
  return rows;
}

/**
 * Takes the person out of recipients, calls, skipped contacts, caps and durable sends, some rows at a time. Repeatable.
 * Answers how many durable sends to them have not ended: each is asked to, and loses its content once it has.
 */
export async function eraseTraces(
  db: Kysely<CampaignTables>,
  erasure: Erasure,
  cancelSend: (workspaceId: string, sendId: string) => Promise<unknown>,
): Promise<number> {
  const { workspaceId, contactId, addresses } = erasure;
  while ((await eraseRecipients(db, erasure)) > 0);
  await sql`update skipped_contacts k set address = null, evidence = null from runs
    where k.contact_id = ${contactId} and runs.id = k.run_id and runs.workspace_id = ${workspaceId}
      and k.address is not null`.execute(db);
  for (let run: string | undefined = ''; run !== undefined; ) run = await eraseMailboxes(db, erasure, run);
  const keys = addresses.map(addressKey);
  await sql`delete from contact_uses where workspace_id = ${workspaceId} and address = any(${keys}::text[])`.execute(
    db,
  );
  for (const id of await sendsUnderWay(db, erasure)) await cancelSend(workspaceId, id).catch(() => undefined);
  while ((await eraseSends(db, erasure)) > 0);
  return (await sendsUnderWay(db, erasure)).length;
}

async function sendsUnderWay(
  db: Kysely<CampaignTables>,
  { workspaceId, addresses }: Erasure,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    ${idsOfSendsTo({ workspaceId, addresses }, sql`finished_at is null`)} limit ${LIMITS.erasedRows}`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

async function eraseSends(db: Kysely<CampaignTables>, { workspaceId, addresses }: Erasure): Promise<number> {
  const { numAffectedRows } = await sql`
    update durable_sends set content = content || '{"to": null, "params": {}, "subject": null, "body": null, "voice": null}'
    where id = any(array(
      ${idsOfSendsTo({ workspaceId, addresses }, sql`finished_at is not null`)} limit ${LIMITS.erasedRows}))`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}

/** The person is nowhere else any more, so the addresses by which they were looked for go too. */
export async function markErased(db: Kysely<CampaignTables>, { id, workspaceId }: Erasure): Promise<void> {
  await sql`update erasures set done_at = now(), addresses = null, words = null
    where id = ${id} and workspace_id = ${workspaceId}`.execute(db);
}
