import { type Kysely, sql } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { addressKey } from '../../domain/suppression';
import type { MessagingTables } from '../model/tables';
import { suppressErased } from './erased-address';

/**
 * What is kept by an address and not by a message: bounces, notices, replies that are owed, receipts whose message is not
 * known, and entries of the suppression list that came while the person was being erased. Repeatable.
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
    // Another workspace may still wait for its receipt.
    await sql`
      delete from orphan_receipts o where o.to_address = any(${either}::text[]) and not exists (
        select from messages m where m.to_address = o.to_address and m.workspace_id <> ${workspaceId})`.execute(
      tx,
    );
  });
}
