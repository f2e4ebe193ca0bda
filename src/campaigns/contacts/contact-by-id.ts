import { type RawBuilder, sql } from 'kysely';

/**
 * A contact for a `lateral` join, found by primary key only. The planner has no statistics for contacts that
 * were imported a moment ago. It expects one row for a workspace and loops through all members of a list for
 * each contact: minutes for a list of 200,000.
 */
export const contactById = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select * from contacts where id = ${id} limit 1)`;

/**
 * The same for a member of an audience. Values from a campaign's own audience go before the contact's own. They
 * are looked up by primary key too, and only for campaigns with such an audience.
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
