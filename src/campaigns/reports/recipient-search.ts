import { type Kysely, type RawBuilder, sql } from 'kysely';
import {
  beginsWith,
  type ContactPage,
  type ContactPrefix,
  contactPrefix,
  fewMatching,
} from '../contacts/find-contacts';
import type { CampaignTables } from '../model/tables';

/** Which rows of `recipients` a search for a person reads, and which of those match. */
export interface RecipientSource {
  /** SQL: a table expression. */
  rows: RawBuilder<unknown>;
  /** SQL over `recipients r`. */
  matches: RawBuilder<unknown>;
  /** The rows are few and were found by an index, so that they may be sorted; otherwise they are all of the table's. */
  few: boolean;
}

export const ALL_RECIPIENTS: RecipientSource = { rows: sql`recipients`, matches: sql`true`, few: false };

/**
 * By contacts whose identifiers begin so, and by the address that a message goes to, which is the one that the contact
 * had at the freeze. If few contacts match, their recipients are read by the contact's index, and those of an address
 * that is given whole by the mailbox's. If many do, one of some hundred rows matches, and rows are read in their order.
 */
export async function searchedRecipients(
  db: Kysely<CampaignTables>,
  runId: string,
  { search, hidesAddresses }: Pick<ContactPage, 'search' | 'hidesAddresses'>,
): Promise<RecipientSource> {
  const prefix = contactPrefix(search, { hidesAddresses });
  if (!prefix) return ALL_RECIPIENTS;
  const run = await db
    .selectFrom('runs')
    .select('workspace_id')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow();
  const few = await fewMatching(db, run.workspace_id, prefix);
  if (!few) return { rows: sql`recipients`, matches: matchesOf(prefix), few: false };
  if (prefix.hidesAddresses) {
    return {
      rows: sql`(select * from recipients where contact_id = any(${few}::text[]) offset 0)`,
      matches: sql`true`,
      few: true,
    };
  }
  // The offset keeps the planner from reading all of the run beside these indexes.
  const rows = sql`(
    select * from recipients where contact_id = any(${few}::text[])
    union
    select * from recipients
    where hashtextextended(run_id || '.' || channel || '.' || lower(address collate "C"), 0)
      = any(array(${mailboxesOf(runId, prefix)}))
      and lower(address collate "C") = any(${keysOf(prefix)}::text[])
    offset 0)`;
  return { rows, matches: sql`true`, few: true };
}

/** An address as it is compared whole. */
const keysOf = ({ indexed, phone }: ContactPrefix): string[] =>
  phone === undefined ? indexed : [...indexed, phone];

function mailboxesOf(runId: string, prefix: ContactPrefix): RawBuilder<unknown> {
  return sql`
    select hashtextextended(${runId}::text || '.' || channel || '.' || key, 0)
    from unnest(array['email', 'sms', 'voice']) channel, unnest(${keysOf(prefix)}::text[]) key`;
}

/** A subquery with one value is asked for each row; of `exists` the planner would read and hash all contacts first. */
function matchesOf(prefix: ContactPrefix): RawBuilder<unknown> {
  const { text, phone } = prefix;
  const contact = sql`coalesce((select ${beginsWith(prefix)} from contacts c where c.id = r.contact_id), false)`;
  if (prefix.hidesAddresses) return contact;
  return sql`(
    starts_with(lower(r.address), ${text})
    or ${phone === undefined ? sql`false` : sql`starts_with(r.address, ${phone})`}
    or ${contact})`;
}
