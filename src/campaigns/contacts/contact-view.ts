import { sql } from 'kysely';

/** A contact as the API shows it (api.md 6). */
export interface ContactView {
  id: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  locale: string | null;
  params: Record<string, string | number>;
  createdAt: Date;
  updatedAt: Date;
}

/** A row of `contacts`, of the columns that are shown. */
export interface ContactRecord {
  id: string;
  external_id: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  locale: string | null;
  params: Record<string, string | number>;
  created_at: Date;
  updated_at: Date;
}

/** SQL: the columns of `contacts c`. */
export const CONTACT_COLUMNS = sql`
  c.id, c.external_id, c.name, c.email, c.phone, c.timezone, c.locale, c.params, c.created_at, c.updated_at`;

export function viewOfContact(row: ContactRecord): ContactView {
  return {
    id: row.id,
    externalId: row.external_id,
    name: row.name,
    email: row.email,
    phone: row.phone,
    timezone: row.timezone,
    locale: row.locale,
    params: row.params,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
