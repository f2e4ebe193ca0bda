import { type Kysely, type RawBuilder, sql } from 'kysely';
import { addressKey } from '../../domain/suppression';
import { newId } from '../../storage/new-id';
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
