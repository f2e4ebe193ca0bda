import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { MessageList } from '../../contracts/messages';
import { LIMITS } from '../../domain/limits';
import type { MessageState } from '../../domain/message';
import { firstIdAt } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { currentState } from './current-state';
import { type MessageRecord, RECORD_COLUMNS, type RecordRow, recordOf } from './tracking';

type Condition = RawBuilder<boolean>;

/** An id is generated before its message is stored, and a busy database may take this long. */
const STORED_WITHIN_MS = 60_000;

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
  const looked = db
    .selectFrom('messages as m')
    .where((where) => where.and(indexed))
    .orderBy('m.id', 'desc');
  const rows = await db
    .selectFrom(looked.selectAll().limit(LIMITS.messagesLookedAt).as('m'))
    .select(RECORD_COLUMNS)
    .select(currentState('m').as('present'))
    .where((where) => where.and(judged))
    .orderBy('m.id', 'desc')
    .limit(query.limit + 1)
    .execute();
  const page = rows.slice(0, query.limit).map((row: RecordRow) => recordOf(row));
  if (rows.length > page.length) return { messages: page, next: page.at(-1)?.id ?? null };
  if (judged.length === 0) return { messages: page, next: null };
  const last = await looked
    .select('m.id')
    .offset(LIMITS.messagesLookedAt - 1)
    .limit(1)
    .executeTakeFirst();
  return { messages: page, next: last?.id ?? null };
}

function conditionsOf(
  workspaceId: string,
  { channel, campaign, state, from, to, cursor }: MessageList,
): { indexed: Condition[]; judged: Condition[] } {
  const indexed = [sql<boolean>`m.workspace_id = ${workspaceId}`];
  const judged: Condition[] = [];
  // Uses one index, the most selective first. Combining two rare conditions could read all rows of one of them.
  let isFound = false;
  const find = (condition: Condition) => {
    (isFound ? judged : indexed).push(condition);
    isFound = true;
  };
  if (typeof to === 'string') find(sql`m.to_address = ${to}`);
  if (campaign !== undefined) find(sql`m.campaign = ${campaign}`);
  if (state !== undefined && isBadEnd(state)) find(sql`m.ended = ${state}`);
  else if (state !== undefined) judged.push(stateIs(state));
  if (channel) judged.push(sql`m.channel = ${channel}`);
  if (typeof from === 'string') judged.push(sql`m.from_address = ${from}`);
  if (from instanceof Date) {
    indexed.push(sql`m.id >= ${firstIdAt('msg', from.getTime() - STORED_WITHIN_MS)}`);
    judged.push(sql`m.created_at >= ${from.toISOString()}::timestamptz`);
  }
  if (to instanceof Date) {
    indexed.push(sql`m.id < ${firstIdAt('msg', to.getTime())}`);
    judged.push(sql`m.created_at < ${to.toISOString()}::timestamptz`);
  }
  if (cursor !== undefined) indexed.push(sql`m.id < ${cursor}`);
  return { indexed, judged };
}

/** Whether `messages.ended` holds the state (migration 0060). */
const isBadEnd = (state: MessageState) =>
  !['scheduled', 'accepted', 'sending', 'sent', 'delivered'].includes(state);

/** Compare the stored state first, so that only few rows need the derived one. */
function stateIs(state: MessageState): Condition {
  if (state === 'sent' || state === 'delivered') return sql`m.state = ${state}`;
  return sql`m.state in ('scheduled', 'accepted') and ${currentState('m')} = ${state}`;
}
