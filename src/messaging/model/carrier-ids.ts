import { type RawBuilder, sql } from 'kysely';
import { isText } from './hashed-text';

/**
 * SQL for a lateral join: `message_id` of the messages to which a carrier gave this id. It may have given it twice. `offset 0` has
 * each id looked up by itself, because the planner takes a hash for one of two hundred until the table is analyzed, and would
 * read all the ids that there are for ten that are asked for.
 */
export const carriersMessages = (
  provider: RawBuilder<unknown>,
  providerId: RawBuilder<unknown>,
): RawBuilder<unknown> =>
  sql`(select message_id from known_carrier_ids k
    where k.provider = ${provider} and ${isText(sql`k.provider_id`, providerId)} offset 0)`;
