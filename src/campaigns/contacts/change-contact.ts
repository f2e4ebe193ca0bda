import { type Kysely, sql } from 'kysely';
import { DomainError, type FieldError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { CampaignTables } from '../model/tables';
import { CONTACT_FIELDS, type ContactRow, checkContact } from './contact-row';
import { CONTACT_COLUMNS, type ContactRecord, type ContactView, viewOfContact } from './contact-view';
import { lockContacts } from './contacts';

/** One contact of a workspace. */
export interface ContactKey {
  workspaceId: string;
  contactId: string;
}

/** New values by field: null clears one, an absent one stays, `params` replaces the whole. */
export type ContactChange = Record<string, unknown>;

/** Throws `not_found`. */
export async function readContact(db: Kysely<CampaignTables>, key: ContactKey): Promise<ContactView> {
  const contact = await findContact(db, key);
  if (!contact) throw noContact(key.contactId);
  return contact;
}

export const noContact = (contactId: string) => notInWorkspace(`contact ${contactId}`, '/api/contact');

export async function findContact(
  db: Kysely<CampaignTables>,
  { workspaceId, contactId }: ContactKey,
): Promise<ContactView | undefined> {
  const { rows } = await sql<ContactRecord>`
    select ${CONTACT_COLUMNS} from contacts c
    where c.id = ${contactId} and c.workspace_id = ${workspaceId}`.execute(db);
  return rows[0] && viewOfContact(rows[0]);
}

/**
 * Changes a contact for the audiences that are frozen from now on; messages of a run that was frozen go where
 * they were to go. The result is checked like a row of an import. The contact's identity may change with it,
 * unless another contact of the workspace has it. Throws `not_found`, `invalid_request` with every finding,
 * `contact_exists`.
 */
export async function changeContact(
  db: Kysely<CampaignTables>,
  key: ContactKey,
  change: ContactChange,
): Promise<ContactView> {
  return db.transaction().execute(async (tx) => {
    await lockContacts(tx, key.workspaceId);
    const row = changed(await readContact(tx, key), change);
    const { rows } = await sql<ContactRecord>`
      update contacts c set identity = ${row.identity}, external_id = ${row.externalId}, name = ${row.name},
        email = ${row.email}, phone = ${row.phone}, timezone = ${row.timezone}, locale = ${row.locale},
        params = ${JSON.stringify(row.params)}::jsonb, updated_at = now()
      where c.id = ${key.contactId} and c.workspace_id = ${key.workspaceId} and not exists (
        select from contacts o where o.workspace_id = ${key.workspaceId} and o.identity = ${row.identity}
          and o.id <> ${key.contactId})
      returning ${CONTACT_COLUMNS}`.execute(tx);
    const [stored] = rows;
    if (!stored) throw taken(row);
    return viewOfContact(stored);
  });
}

function changed(contact: ContactView, change: ContactChange): ContactRow {
  const kept = Object.fromEntries(CONTACT_FIELDS.map((field) => [field, contact[field]]));
  const checked = checkContact({ ...kept, ...change }, undefined);
  // Params that stay are not checked again, because several imports may together have brought more than one may.
  if ('row' in checked) return 'params' in change ? checked.row : { ...checked.row, params: contact.params };
  // Rows are checked with codes of the same catalogue (domain/field-codes.ts).
  const errors = checked.findings.map(({ field, code, message }) => ({
    ...{ path: field, code: code as FieldError['code'], message },
  }));
  const first = errors[0] ? `: ${errors[0].path}: ${errors[0].message}` : '';
  throw new DomainError('invalid_request', `Contact ${contact.id} cannot be changed${first}`, { errors });
}

/** Names what is taken by its kind, never by its value, because messages of errors reach logs. */
function taken({ identity }: ContactRow): DomainError {
  const kinds: Record<string, string> = { x: 'external id', e: 'email address', p: 'phone number' };
  return new DomainError(
    'contact_exists',
    `Another contact of the workspace is identified by this ${kinds[identity[0] ?? ''] ?? 'value'}; change or remove that contact first`,
  );
}
