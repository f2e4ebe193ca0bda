import { type Kysely, type RawBuilder, sql } from 'kysely';
import { timeOfId } from '../../storage/new-id';
import { isAmongTexts } from '../model/hashed-text';
import type { MessagingTables } from '../model/tables';
import { currentState } from './current-state';
import { RECORD_COLUMNS, type TrackedMessage, tracked } from './tracking';

/** The addresses of one person, as records have them and in lower case. */
interface Person {
  workspaceId: string;
  addresses: readonly string[];
}

/** A message with the text that it had in place of a template's. */
export type PersonMessage = TrackedMessage & { body?: string | undefined };

/**
 * SQL: a message to an email address that was not written in lower case, which is as `isKey` says when it is. An index finds
 * those of a workspace. It holds such addresses alone; they are few.
 */
export const isToMixedCase = (isKey: (lowered: RawBuilder<unknown>) => RawBuilder<boolean>) => sql<boolean>`
  (to_address <> lower(to_address collate "C") and ${isKey(sql`lower(to_address collate "C")`)})`;

/**
 * SQL: ids of the messages to a person, however an email address was written. The two parts have an index each.
 */
export const idsOfMessagesTo = (
  { workspaceId, addresses }: Person,
  also: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> => sql`
  select id from messages
  where ${isAmongTexts(sql`to_address`, addresses)} and workspace_id = ${workspaceId} and ${also}
  union
  select id from messages
  where ${isToMixedCase((lowered) => isAmongTexts(lowered, addresses))} and workspace_id = ${workspaceId} and ${also}`;

/** Messages to a person with their events, oldest first, from behind the one with the id `after`. */
export async function readMessagesTo(
  db: Kysely<MessagingTables>,
  person: Person,
  { after, limit }: { after: string; limit: number },
): Promise<PersonMessage[]> {
  // Indexes know when a message was accepted, which is after its id was made; a clock that was set back may have it before.
  const later =
    after === ''
      ? sql`true`
      : sql`id > ${after} and created_at >= to_timestamp(${timeOfId(after) / 1_000}::float8) - interval '1 minute'`;
  const { rows } = await sql<{ id: string }>`
    select id from (${idsOfMessagesTo(person, later)}) found order by id limit ${limit}`.execute(db);
  const messages = await db
    .selectFrom('messages as m')
    .select(RECORD_COLUMNS)
    .select(['accepted_seq', 'history', 'body', currentState('m').as('present')])
    .where('id', '=', sql<string>`any(${rows.map(({ id }) => id)}::text[])`)
    .orderBy('id')
    .execute();
  return messages.map((row) => ({ ...tracked(row), body: row.body ?? undefined }));
}
