import { type RawBuilder, sql } from 'kysely';

/**
 * A contact, for a `lateral` join, by its primary key and by nothing else. Of contacts that were imported a
 * moment ago the planner knows nothing: it takes a workspace's for a single row, and loops through all members
 * of a list for each of them, minutes for a list of 200,000.
 */
export const contactById = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select * from contacts where id = ${id} limit 1)`;
