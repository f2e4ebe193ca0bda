import { type Kysely, type Selectable, sql } from 'kysely';
import type { Channel } from '../domain/channel';
import { notHeld } from './holds';
import type { OutgoingMessage } from './outgoing';
import type { MessagingTables } from './tables';

/** Reading back the messages that did not go straight from acceptance to hand-over. */

const COLUMNS = [
  'id',
  'workspace_id',
  'uid',
  'channel',
  'to_address',
  'from_address',
  'template_id',
  'template_version',
  'subject',
  'body',
  'params',
  'campaign',
  'reply_to',
  'expires_at',
  'attempt',
] as const;
type Row = Pick<Selectable<MessagingTables['messages']>, (typeof COLUMNS)[number]>;

export interface DueQuery {
  lane: string;
  channel: Channel;
  /** Already in hand. */
  except: readonly string[];
  heldKeys: readonly string[];
  now: string;
  limit: number;
}

/** In the order in which they fell due, and among those that did together, were accepted. */
export async function readDue(db: Kysely<MessagingTables>, query: DueQuery): Promise<OutgoingMessage[]> {
  const rows = await db
    .selectFrom('messages as m')
    .select(COLUMNS)
    .where('m.lane', '=', query.lane)
    .where(waits('m'))
    .where('m.due_at', '<=', sql<Date>`${query.now}::timestamptz`)
    .where('m.channel', '=', query.channel)
    .where(sql<boolean>`m.id <> all(${query.except}::text[])`)
    .where(sql<boolean>`${notHeld('m', query.heldKeys)}`)
    .orderBy('m.due_at')
    .orderBy('m.accepted_seq')
    .limit(query.limit)
    .execute();
  return rows.map(outgoing);
}

/** When the next message of the lane falls due, in milliseconds; `undefined` when none waits. */
export async function nextDueMs(
  db: Kysely<MessagingTables>,
  query: { lane: string; channel: Channel; now: string },
): Promise<number | undefined> {
  const { rows } = await sql<{ due_at: Date }>`
    select due_at from messages
    where lane = ${query.lane} and state in ('scheduled', 'accepted')
      and due_at > ${query.now}::timestamptz and channel = ${query.channel}
    order by due_at limit 1
  `.execute(db);
  return rows[0]?.due_at.getTime();
}

/** Those of the given messages that still wait to be handed over. */
export async function readWaiting(
  db: Kysely<MessagingTables>,
  ids: readonly string[],
): Promise<OutgoingMessage[]> {
  const rows = await db
    .selectFrom('messages')
    .select(COLUMNS)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where(waits('messages'))
    .execute();
  return rows.map(outgoing);
}

/** Written out and not as parameters, so that the planner sees it is what the index messages_due holds. */
const waits = (table: string) => sql<boolean>`${sql.ref(`${table}.state`)} in ('scheduled', 'accepted')`;

function outgoing(row: Row): OutgoingMessage {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    uid: row.uid,
    channel: row.channel,
    to: row.to_address,
    from: row.from_address,
    templateId: row.template_id ?? undefined,
    templateVersion: row.template_version ?? undefined,
    subject: row.subject ?? undefined,
    body: row.body ?? undefined,
    params: row.params,
    campaign: row.campaign ?? undefined,
    replyTo: row.reply_to ?? undefined,
    expiresAtMs: row.expires_at?.getTime(),
    attempt: row.attempt,
  };
}
