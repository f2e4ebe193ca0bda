import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { CONTACT_COLUMNS, type ContactRecord, type ContactView, viewOfContact } from './contact-view';

export interface ContactPage {
  /** The last id of the page before. */
  cursor?: string | undefined;
  limit: number;
  /** An external id, an email address or a phone number, or how one begins. */
  search?: string | undefined;
  /** The caller may not know addresses, so that only external ids are compared. */
  hidesAddresses?: boolean | undefined;
}

/** One page of a workspace's contacts, oldest first. */
export async function findContacts(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { cursor, limit, search, hidesAddresses }: ContactPage,
): Promise<{ contacts: ContactView[]; next: string | null }> {
  const prefix = contactPrefix(search, { hidesAddresses });
  const few = prefix && (await fewMatching(db, workspaceId, prefix));
  const matches = few ? sql`c.id = any(${few}::text[])` : prefix ? beginsWith(prefix) : sql`true`;
  const { rows } = await sql<ContactRecord>`
    select ${CONTACT_COLUMNS} from contacts c
    where c.workspace_id = ${workspaceId} and ${matches}
      and ${cursor === undefined ? sql`true` : sql`c.id > ${cursor}`}
    order by c.id limit ${limit + 1}`.execute(db);
  const contacts = rows.slice(0, limit).map(viewOfContact);
  return { contacts, next: rows.length > limit ? (contacts.at(-1)?.id ?? null) : null };
}

/** What a search compares: its text in lower case, and its digits where it may be a phone number. */
export interface ContactPrefix {
  text: string;
  /**
   * The text as the indexes may have it, which lower the letters A to Z alone: as it was given, and with all of its other
   * letters small or large.
   */
  indexed: string[];
  phone: string | undefined;
  hidesAddresses: boolean;
}

/** Undefined for a search without a word, which finds everything. */
export function contactPrefix(
  search: string | undefined,
  { hidesAddresses = false }: Pick<ContactPage, 'hidesAddresses'>,
): ContactPrefix | undefined {
  const given = search?.trim();
  if (!given) return undefined;
  const text = given.toLowerCase();
  const indexed = [...new Set([given, text, given.toUpperCase()].map(lowerAToZ))];
  const digits = text.replace(/\D/g, '');
  const mayBePhone = /^\+?[\d\s().\-/]+$/.test(text) && digits !== '';
  return { text, indexed, phone: mayBePhone ? `+${digits.replace(/^00/, '')}` : undefined, hidesAddresses };
}

const lowerAToZ = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * The ids of the contacts that match, if they are few. Undefined for more: reading the list in its order then finds a
 * page of them sooner.
 */
export async function fewMatching(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { indexed, phone, hidesAddresses }: ContactPrefix,
): Promise<string[] | undefined> {
  const identity = sql`lower(identity collate "C")`;
  const emails = indexed.flatMap((text) => [
    within(identity, `e:${text}`),
    sql`${within(sql`lower(email collate "C")`, text)} and email is not null and left(identity, 2) <> 'e:'`,
  ]);
  const phones =
    phone === undefined
      ? []
      : [
          within(identity, `p:${phone}`),
          sql`${within(sql`(phone collate "C")`, phone)} and phone is not null and left(identity, 2) <> 'p:'`,
        ];
  const externalIds = indexed.map((text) => within(identity, `x:${text}`));
  const conditions = hidesAddresses
    ? externalIds.map((condition) => sql`${condition} and ${NO_ADDRESS}`)
    : [...externalIds, ...emails, ...phones];
  const most = LIMITS.searchedByIdMax + 1;
  // Each condition has an index of its own, and reads one row more than counts as few.
  const parts = conditions.map(
    (condition) =>
      sql`(select id from contacts where workspace_id = ${workspaceId} and ${condition} limit ${most})`,
  );
  const { rows } = await sql<{ id: string }>`
    select id from (${sql.join(parts, sql` union `)}) found limit ${most}`.execute(db);
  return rows.length < most ? rows.map(({ id }) => id) : undefined;
}

/** An external id may be an address itself, which a caller who may not know addresses could guess letter by letter. */
const NO_ADDRESS = sql`external_id !~ '[@+]'`;

/** SQL over `contacts c`: the same rule as that of the indexes, for rows that are read anyway. */
export function beginsWith({ text, phone, hidesAddresses }: ContactPrefix): RawBuilder<unknown> {
  if (hidesAddresses) return sql`(starts_with(lower(c.external_id), ${text}) and ${NO_ADDRESS})`;
  return sql`(
    starts_with(lower(c.external_id), ${text}) or starts_with(lower(c.email), ${text})
    or ${phone === undefined ? sql`false` : sql`starts_with(c.phone, ${phone})`})`;
}

/** No character comes after this one, so that every text with the prefix lies before the two together. */
const LAST_CHARACTER = '\u{10FFFF}';

const within = (column: RawBuilder<unknown>, prefix: string) =>
  sql`${column} >= ${prefix} and ${column} < ${prefix + LAST_CHARACTER}`;
