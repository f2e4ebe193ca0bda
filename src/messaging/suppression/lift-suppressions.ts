import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { addressKey, type SuppressionChannel, type SuppressionLifter } from '../../domain/suppression';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { erasedKeySql } from './erased-address';

/**
 * Deletes an address's suppressions on a channel and remembers them, in one statement. Even after a crash, a
 * suppression is either in the list or among the lifted ones. Only the latest of each address are remembered,
 * because a subscriber may write STOP and START for ever. Returns how many were lifted.
 */
export async function liftSuppressions(
  db: Kysely<MessagingTables>,
  { workspaceId, address, channel }: { workspaceId: string; address: string; channel: SuppressionChannel },
  which: RawBuilder<boolean>,
  by: SuppressionLifter,
): Promise<number> {
  const key = addressKey(address);
  const { rows } = await sql<{ lifted: number }>`
    with gone as (
      delete from suppressions
      where workspace_id = ${workspaceId} and channel = ${channel} and ${which}
        and address in (${key}, ${erasedKeySql(workspaceId, sql`${key}`)})
      returning *
    ), remembered as (
      insert into lifted_suppressions
        (id, workspace_id, address, channel, sender, reason, source, blocked_at, lifted_by)
      select ${newId('lif')} || lpad(row_number() over (order by id)::text, 4, '0'),
        workspace_id, address, channel, sender, reason, source, created_at, ${by}
      from gone order by id desc limit ${LIMITS.liftedBlocks}
    ), forgotten as (
      delete from lifted_suppressions where exists (select 1 from gone) and id in (
        select id from lifted_suppressions where workspace_id = ${workspaceId} and address = ${key}
        order by lifted_at desc, id desc
        offset greatest(0, ${LIMITS.liftedBlocks}::int - (select count(*)::int from gone))
      )
    )
    select count(*)::int as lifted from gone`.execute(db);
  return rows[0]?.lifted ?? 0;
}
