import { type Kysely, sql } from 'kysely';
import { addressKey, type Suppression, type SuppressionSource, senderKey } from '../../domain/suppression';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { isErasedSql } from './erased-address';

export interface UpsertCounts {
  created: number;
  updated: number;
  unchanged: number;
}

/**
 * Adds suppressions in one statement. An existing entry takes the reason and source of one made by an operator
 * or a complaint. An automatic one, such as a bounce, replaces only entries that the recipient can lift again:
 * a keyword or an unsubscribe. Those two replace no other source, because lifting them would then lift more. A carrier's own
 * block (`provider`) replaces neither, and a keyword replaces it, because both follow from the same wish and end with it: Twilio
 * refuses the confirmation of the STOP that it has heard too, and takes back its block at the START by which ours is lifted. One
 * that the carrier keeps comes back with its next refusal.
 *
 * The address of an erased person is in no entry: the one with its hash covers all channels and senders.
 *
 * New ids sort in the order given. Rows are written in key order, so that two writers of the same entries wait
 * for each other instead of deadlocking.
 */
export async function upsertSuppressions(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  blocks: readonly Suppression[],
  source: SuppressionSource,
  firstId: string = newId('sup'),
): Promise<UpsertCounts> {
  if (blocks.length === 0) return { created: 0, updated: 0, unchanged: 0 };
  const rows = distinct(blocks);
  const { rows: counts } = await sql<{ created: number; updated: number }>`
    with written as (
      insert into suppressions as s (id, workspace_id, address, channel, sender, reason, source)
      select r.id, ${workspaceId}, r.address, r.channel, r.sender, r.reason, ${source}
      from unnest(
        ${rows.map((_, i) => (i === 0 ? firstId : `${firstId}${i.toString(36).padStart(4, '0')}`))}::text[],
        ${rows.map((row) => row.address)}::text[],
        ${rows.map((row) => row.channel)}::text[],
        ${rows.map((row) => row.sender)}::text[],
        ${rows.map((row) => row.reason)}::text[]
      ) as r(id, address, channel, sender, reason)
      where not ${isErasedSql(workspaceId, sql`r.address`)}
      order by r.address collate "C", r.channel, r.sender
      on conflict (workspace_id, address, channel, sender) do update
        set reason = excluded.reason, source = excluded.source, updated_at = now()
        where (s.reason, s.source) is distinct from (excluded.reason, excluded.source)
          and (excluded.source in ('api', 'csv', 'complaint') or s.source = excluded.source
            or (s.source in ('keyword', 'unsubscribe')
              and excluded.source not in ('keyword', 'unsubscribe', 'provider'))
            or (s.source = 'provider' and excluded.source = 'keyword'))
      returning (xmax = 0) as created
    )
    select count(*) filter (where created)::int as created,
      count(*) filter (where not created)::int as updated
    from written
  `.execute(db);
  const { created = 0, updated = 0 } = counts[0] ?? {};
  return { created, updated, unchanged: blocks.length - created - updated };
}

/** Keeps the last of several entries for the same key, because one statement cannot write a row twice. */
function distinct(blocks: readonly Suppression[]) {
  const byKey = new Map<string, { address: string; channel: string; sender: string; reason: string }>();
  for (const block of blocks) {
    const address = addressKey(block.address);
    const sender = block.sender === undefined ? '' : senderKey(block.sender);
    const { channel, reason } = block;
    byKey.set(`${channel} ${sender} ${address}`, { address, channel, sender, reason });
  }
  return [...byKey.values()];
}
