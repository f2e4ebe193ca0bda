import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { MessageList } from '../../contracts/messages';
import { LIMITS } from '../../domain/limits';
import type { MessageState } from '../../domain/message';
import { addressKey } from '../../domain/suppression';
import { timeOfId } from '../../storage/new-id';
import { isText } from '../model/hashed-text';
import type { MessagingTables } from '../model/tables';
import { currentState } from './current-state';
import { isToMixedCase } from './messages-to-person';
import { type MessageRecord, RECORD_COLUMNS, type RecordRow, recordOf } from './tracking';

type Condition = RawBuilder<boolean>;

/**
 * A workspace's messages, newest first. An index finds them: by address, by campaign, by bad end, or all by
 * age. The other filters are applied to up to `messagesLookedAt` of the rows found. A page may therefore hold
 * fewer messages than asked for, even none, and `next` says where the list continues.
 */
export async function listMessages(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  query: MessageList,
): Promise<{ messages: MessageRecord[]; next: string | null }> {
  const { indexed, judged } = conditionsOf(workspaceId, query);
  const lookedMax = judged.length === 0 ? query.limit + 1 : LIMITS.messagesLookedAt;
  const looked = lookedAt(db, { indexed, to: query.to, max: lookedMax });
  const rows = await db
    .selectFrom(looked.selectAll().as('m'))
    .select(RECORD_COLUMNS)
    .select(currentState('m').as('present'))
    .where((where) => where.and(judged))
    .orderBy('m.created_at', 'desc')
    .orderBy('m.id', 'desc')
    .limit(query.limit + 1)
    .execute();
  const page = rows.slice(0, query.limit).map((row: RecordRow) => recordOf(row));
  if (rows.length > page.length) return { messages: page, next: page.at(-1)?.id ?? null };
  if (judged.length === 0) return { messages: page, next: null };
  const end = await db
    .selectFrom(looked.select(['m.id', 'm.created_at']).as('m'))
    .select(['m.id', sql<number>`count(*) over ()::int`.as('count')])
    .orderBy('m.created_at')
    .orderBy('m.id')
    .limit(1)
    .executeTakeFirst();
  return { messages: page, next: end && end.count >= lookedMax ? end.id : null };
}

/**
 * The newest of the messages that the index finds. It knows the order of times only: what was accepted at the last of them
 * is read whole, and put in order by id.
 */
function lookedAt(
  db: Kysely<MessagingTables>,
  { indexed, to, max }: { indexed: Condition[]; to: MessageList['to']; max: number },
) {
  const every = db.selectFrom('messages as m');
  const newest = (messages: typeof every) =>
    messages
      .where((where) => where.and(indexed))
      .orderBy('m.created_at', 'desc')
      .fetch(max, 'with ties');
  if (typeof to !== 'string') return newest(every);
  const key = addressKey(to);
  const toKey = newest(every.where(isText(sql`m.to_address`, sql`${key}::text`)));
  if (!key.includes('@')) return toKey;
  // Email addresses that were not written in lower case have an index of their own.
  const toMixed = newest(every.where(isToMixedCase((lowered) => isText(lowered, sql`${key}::text`))));
  const both = db
    .selectFrom(toKey.selectAll().as('exact'))
    .selectAll()
    .unionAll(db.selectFrom(toMixed.selectAll().as('mixed')).selectAll());
  return db.selectFrom(both.as('m')).orderBy('m.created_at', 'desc').fetch(max, 'with ties');
}

function conditionsOf(
  workspaceId: string,
  { channel, campaign, state, from, to, cursor }: MessageList,
): { indexed: Condition[]; judged: Condition[] } {
  const indexed = [sql<boolean>`m.workspace_id = ${workspaceId}`];
  const judged: Condition[] = [];
  // Uses one index, the most selective first: an address is. Combining two rare conditions could read all rows of one of
  // them.
  let isFound = typeof to === 'string';
  const find = (condition: Condition) => {
    (isFound ? judged : indexed).push(condition);
    isFound = true;
  };
  if (campaign !== undefined) find(sql`m.campaign = ${campaign}`);
  if (state !== undefined && isBadEnd(state)) find(sql`m.ended = ${state}`);
  else if (state !== undefined) judged.push(stateIs(state));
  if (channel) judged.push(sql`m.channel = ${channel}`);
  if (typeof from === 'string') judged.push(sql`m.from_address = ${from}`);
  if (from instanceof Date) indexed.push(sql`m.created_at >= ${from.toISOString()}::timestamptz`);
  if (to instanceof Date) indexed.push(sql`m.created_at < ${to.toISOString()}::timestamptz`);
  if (cursor !== undefined) indexed.push(...olderThan(cursor));
  return { indexed, judged };
}

/**
 * The first condition is the index's. A message that is deleted by now has only the time in its id, which is a moment
 * before its acceptance.
 */
function olderThan(id: string): Condition[] {
  const acceptedAt = sql`coalesce(
    (select created_at from messages where id = ${id}), to_timestamp(${timeOfId(id) / 1_000}::float8))`;
  return [sql`m.created_at <= ${acceptedAt}`, sql`(m.created_at < ${acceptedAt} or m.id < ${id})`];
}

/** Whether `messages.ended` holds the state (migration 0060). */
const isBadEnd = (state: MessageState) =>
  !['scheduled', 'accepted', 'sending', 'sent', 'delivered'].includes(state);

/** Compare the stored state first, so that only few rows need the derived one. */
function stateIs(state: MessageState): Condition {
  if (state === 'sent' || state === 'delivered') return sql`m.state = ${state}`;
  return sql`m.state in ('scheduled', 'accepted') and ${currentState('m')} = ${state}`;
}
