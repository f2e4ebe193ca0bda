import { type Kysely, type RawBuilder, sql } from 'kysely';
import { ANY_PLACEHOLDER, isIfThere, nameOf } from '../../domain/template';
import type { CampaignTables } from '../model/tables';

/**
 * Where a placeholder's value comes from, strongest first: the contact's own param of that name, the contact's
 * field, the campaign's param. An empty text is no value. It is SQL over a row of `contacts c`, because one
 * statement freezes an audience and its contacts never pass through this process.
 */
export type ParamValue = string | number;

/** Contact fields that can stand in for a param. */
const FIELDS: Record<string, string> = {
  NAME: 'c.name',
  EMAIL: 'c.email',
  PHONE: 'c.phone',
  EXTERNAL_ID: 'c.external_id',
  LOCALE: 'c.locale',
  TIMEZONE: 'c.timezone',
};

/** The value of one placeholder as jsonb (a string or a number), or null. */
export function paramValue(name: string, campaignParams: Record<string, ParamValue>): RawBuilder<unknown> {
  const own = sql`nullif(c.params -> ${name}::text, '""')`;
  const field = FIELDS[name] === undefined ? sql`null` : sql`to_jsonb(nullif(${sql.ref(FIELDS[name])}, ''))`;
  const given = campaignParams[name];
  const shared = given === undefined || given === '' ? sql`null` : sql`${JSON.stringify(given)}::jsonb`;
  return sql`coalesce(${own}, ${field}, ${shared})`;
}

/** The placeholders that a recipient must have a value for. */
export function requiredNames(placeholders: readonly string[]): string[] {
  return placeholders.filter((name) => name !== ANY_PLACEHOLDER && !isIfThere(name));
}

const OWN_PARAMS = sql`(
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(c.params) where value <> '""')`;

/** Pairs in one call of jsonb_build_object, because a function takes at most 100 arguments. */
const PAIRS_MAX = 40;

/**
 * One jsonb object with the placeholders that have a value; the others are absent. If the template may ask for
 * any placeholder, it has every value of the contact.
 */
export function filledParams(
  placeholders: readonly string[],
  campaignParams: Record<string, ParamValue>,
): RawBuilder<Record<string, ParamValue>> {
  const objects: RawBuilder<unknown>[] = [sql`'{}'::jsonb`];
  if (placeholders.includes(ANY_PLACEHOLDER)) {
    const names = [...Object.keys(FIELDS), ...Object.keys(campaignParams)];
    objects.push(OWN_PARAMS, filledParams([...new Set(names)], campaignParams));
  }
  const named = placeholders.filter((name) => name !== ANY_PLACEHOLDER).map(nameOf);
  for (let from = 0; from < named.length; from += PAIRS_MAX) {
    const pairs = named
      .slice(from, from + PAIRS_MAX)
      .map((name) => sql`${name}::text, ${paramValue(name, campaignParams)}`);
    objects.push(sql`jsonb_strip_nulls(jsonb_build_object(${sql.join(pairs)}))`);
  }
  return sql`(${sql.join(objects, sql` || `)})`;
}

export interface ContactParams {
  /** The values that a campaign with these params would send to this contact; `undefined` without such a contact. */
  of(
    contact: { workspaceId: string; contactId: string },
    placeholders: readonly string[],
    campaignParams: Record<string, ParamValue>,
  ): Promise<Record<string, ParamValue> | undefined>;
}

/** Reads one contact's values for a template's placeholders, before anything is sent. */
export function createContactParams({ db }: { db: Kysely<CampaignTables> }): ContactParams {
  return {
    async of({ workspaceId, contactId }, placeholders, campaignParams) {
      const { rows } = await sql<{ params: Record<string, ParamValue> }>`
        select ${filledParams(placeholders, campaignParams)} as params from contacts c
        where c.id = ${contactId} and c.workspace_id = ${workspaceId}`.execute(db);
      return rows[0]?.params;
    },
  };
}
