import { type Kysely, sql } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';

/**
 * Takes the address and the values from a person's recipients; states and counts stay. A recipient who was not sent to yet
 * is ended by the page that comes to them (activities/send.ts), as every other state is the page's to write.
 */
export async function eraseRecipients(
  db: Kysely<CampaignTables>,
  { workspaceId, contactId }: Erased & { contactId: string },
): Promise<number> {
  const { numAffectedRows } = await sql`
    with own as materialized (
      select r.run_id, r.channel, r.seq from recipients r join runs on runs.id = r.run_id
      where r.contact_id = ${contactId} and runs.workspace_id = ${workspaceId} and r.address is not null
      limit ${LIMITS.erasedRows}
    ), told as (
      update calls c set data = '{}' from own
      where own.channel = 'voice' and c.run_id = own.run_id and c.seq = own.seq
    )
    update recipients r set ${WITHOUT_PERSON} from own
    where r.run_id = own.run_id and r.channel = own.channel and r.seq = own.seq`.execute(db);
  return Number(numAffectedRows ?? 0);
}

const WITHOUT_PERSON = sql`address = null, params = '{}', place = null`;

/** The same for recipients of other contacts to the same addresses: some runs of the workspace at a time. */
export async function eraseMailboxes(
  db: Kysely<CampaignTables>,
  { workspaceId, addresses }: Erased,
  afterRun: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ last: string | null }>`
    with part as materialized (
      select id from runs where workspace_id = ${workspaceId} and id > ${afterRun} order by id limit ${LIMITS.erasedRuns}
    ), mailbox as materialized (
      select part.id as run_id, channel, key from part, unnest(array['email', 'sms', 'voice']) channel,
        unnest(${addresses.map((one) => one.toLowerCase())}::text[]) key
    ), own as materialized (
      select r.run_id, r.channel, r.seq from mailbox m join recipients r
        on hashtextextended(r.run_id || '.' || r.channel || '.' || lower(r.address collate "C"), 0)
          = hashtextextended(m.run_id || '.' || m.channel || '.' || m.key, 0)
      where r.run_id || '' = m.run_id and r.channel || '' = m.channel and lower(r.address collate "C") = m.key
    ), told as (
      update calls c set data = '{}' from own
      where own.channel = 'voice' and c.run_id = own.run_id and c.seq = own.seq
    ), erased as (
      update recipients r set ${WITHOUT_PERSON} from own
      where r.run_id = own.run_id and r.channel = own.channel and r.seq = own.seq
    ), left_out as (
      update skipped_contacts k set address = null, evidence = null from mailbox m
      where hashtextextended(k.run_id || '.' || k.channel || '.' || lower(k.address collate "C"), 0)
          = hashtextextended(m.run_id || '.' || m.channel || '.' || m.key, 0)
        and k.address is not null
        and k.run_id || '' = m.run_id and k.channel || '' = m.channel and lower(k.address collate "C") = m.key
    )
    select max(id) as last from part`.execute(db);
  return rows[0]?.last ?? undefined;
}
