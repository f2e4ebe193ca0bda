import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { addressKey } from '../../domain/suppression';
import { newId } from '../../storage/new-id';
import { isText } from '../model/hashed-text';
import type { MessagingTables } from '../model/tables';

/**
 * Suppressions of persons who were erased. Such an entry has a hash in the place of the address, so that the address is
 * known again when a caller brings it, and cannot be read. The hash is of the workspace too, so that the same person has
 * another one elsewhere.
 */
export const erasedKeySql = (workspaceId: string | RawBuilder<unknown>, addressKey: RawBuilder<unknown>) =>
  sql`('#' || encode(sha256(convert_to(${workspaceId}::text || ' ' || ${addressKey}::text, 'UTF8')), 'hex'))`;

/** SQL: whether the address is one of an erased person. Workspaces without any pay for one look into a small index. */
export const isErasedSql = (workspaceId: string | RawBuilder<unknown>, addressKey: RawBuilder<unknown>) =>
  sql<boolean>`case when exists (select 1 from suppressions where workspace_id = ${workspaceId} and source = 'erased')
    then (
      select true from suppressions e
      where e.workspace_id = ${workspaceId} and e.address = ${erasedKeySql(workspaceId, addressKey)}
        and e.channel = 'all' and e.sender = '' and e.source = 'erased'
    ) is true else false end`;

/** Replaces all that is known of the addresses, lifted entries too, by an entry that has a hash. */
export async function suppressErased(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  addresses: readonly string[],
): Promise<void> {
  const keys = [...new Set(addresses.map(addressKey))].sort();
  await sql`delete from suppressions where workspace_id = ${workspaceId} and address = any(${keys}::text[])`.execute(
    db,
  );
  await sql`delete from lifted_suppressions where workspace_id = ${workspaceId} and address = any(${keys}::text[])`.execute(
    db,
  );
  await sql`
    insert into suppressions (id, workspace_id, address, channel, sender, reason, source)
    select given.id, ${workspaceId}, ${erasedKeySql(workspaceId, sql`given.key`)}, 'all', '', 'erased', 'erased'
    from unnest(${keys.map(() => newId('sup'))}::text[], ${keys}::text[]) as given(id, key)
    on conflict do nothing`.execute(db);
}

/**
 * What is kept by an address and not by a message: bounces, notices, replies that are owed, receipts whose message is not
 * known, parts of what they write, and entries of the suppression list that came while the person was being erased. Repeatable.
 */
export async function eraseAddresses(db: Kysely<MessagingTables>, person: Erased): Promise<void> {
  const { workspaceId } = person;
  const addresses = [...person.addresses];
  const keys = [...new Set(addresses.map(addressKey))];
  const either = [...new Set([...addresses, ...keys])];
  await db.transaction().execute(async (tx) => {
    await suppressErased(tx, workspaceId, addresses);
    await sql`delete from soft_bounces where workspace_id = ${workspaceId} and address = any(${keys}::text[])`.execute(
      tx,
    );
    await sql`delete from opt_out_notices where workspace_id = ${workspaceId} and address = any(${either}::text[])`.execute(
      tx,
    );
    await sql`update inbound_messages set reply_to = null, replied_at = coalesce(replied_at, now())
      where reply_to = any(${either}::text[]) and reply_workspace = ${workspaceId}`.execute(tx);
    // Another workspace may still wait for its receipt. `offset 0` has each address looked up by itself,
    // because the planner would else read all messages where it does not know how many have an address.
    await sql`
      delete from orphan_receipts o where o.to_address = any(${either}::text[]) and not exists (
        select from messages m where ${isText(sql`m.to_address`, sql`o.to_address`)} and m.workspace_id <> ${workspaceId}
        offset 0)`.execute(tx);
    // For another workspace it may be an opt-out. It is forgotten within minutes.
    await sql`
      delete from inbound_parts i where i.from_address = any(${either}::text[]) and not exists (
        select from messages m where ${isText(sql`m.to_address`, sql`i.from_address`)} and m.workspace_id <> ${workspaceId}
        offset 0)`.execute(tx);
  });
}
