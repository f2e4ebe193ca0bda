import { type RawBuilder, sql } from 'kysely';

/**
 * A contact, for a `lateral` join, by its primary key and by nothing else. Of contacts that were imported a
 * moment ago the planner knows nothing: it takes a workspace's for a single row, and loops through all members
 * of a list for each of them, minutes for a list of 200,000.
 */
export const contactById = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select * from contacts where id = ${id} limit 1)`;

/**
 * The same for a member of an audience: the values that a campaign's own audience has for the contact go before the
 * contact's own. They are looked up by primary key too, and only for campaigns that have such an audience.
 */
export const contactOfMember = (
  id: RawBuilder<unknown>,
  ownListId: string | undefined,
): RawBuilder<unknown> =>
  ownListId === undefined
    ? contactById(id)
    : sql`(select id, workspace_id, external_id, name, email, phone, timezone, locale, params || coalesce((
        select own.params from contact_list_members own
        where own.list_id = ${ownListId} and own.contact_id = contacts.id), '{}') as params
      from contacts where id = ${id} limit 1)`;
