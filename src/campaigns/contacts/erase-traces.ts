import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { addressKey } from '../../domain/suppression';
import { eraseMailboxes, eraseRecipients } from '../ledger/erase-recipients';
import type { CampaignTables } from '../model/tables';
import type { Erasure } from './erase-contact';

/** Erasures that are not done, oldest first. */
export async function openErasures(db: Kysely<CampaignTables>): Promise<(Erasure & { ageMs: number })[]> {
  const { rows } = await sql<Erasure & { ageMs: number }>`
    select id, workspace_id as "workspaceId", contact_id as "contactId", addresses, words,
      (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs"
    from erasures where done_at is null order by created_at limit ${LIMITS.erasuresAtOnce}`.execute(db);
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
    select id from durable_sends
    where workspace_id = ${workspaceId} and content ->> 'to' = any(${[...addresses]}::text[]) and finished_at is null
    limit ${LIMITS.erasedRows}`.execute(db);
  return rows.map(({ id }) => id);
}

async function eraseSends(db: Kysely<CampaignTables>, { workspaceId, addresses }: Erasure): Promise<number> {
  const { numAffectedRows } = await sql`
    update durable_sends set content = content || '{"to": null, "params": {}, "subject": null, "body": null, "voice": null}'
    where id in (
      select id from durable_sends
      where workspace_id = ${workspaceId} and content ->> 'to' = any(${[...addresses]}::text[])
        and finished_at is not null
      limit ${LIMITS.erasedRows})`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** The person is nowhere else any more, so the addresses by which they were looked for go too. */
export async function markErased(db: Kysely<CampaignTables>, { id, workspaceId }: Erasure): Promise<void> {
  await sql`update erasures set done_at = now(), addresses = null, words = null
    where id = ${id} and workspace_id = ${workspaceId}`.execute(db);
}
