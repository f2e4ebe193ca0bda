import { type Kysely, type Selectable, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { senderKeySql } from '../suppression/suppression-check';
import type { MessagingTables } from '../tables';
import { notHeld } from './holds';
import type { OutgoingMessage } from './outgoing';

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
  'class',
  'reply_to',
  'voice',
  'expires_at',
  'segments',
  'attempt',
  'code',
  'suffix',
] as const;
type Row = Pick<Selectable<MessagingTables['messages']>, (typeof COLUMNS)[number]> & { size: number };

/** Known without fetching the contents, which may lie apart from their row. */
const size = sql<number>`500 + coalesce(octet_length(m.body), 0) + pg_column_size(m.params)`;

export interface DueQuery {
  lane: string;
  channel: Channel;
  /** Already in hand. */
  except: readonly string[];
  heldKeys: readonly string[];
  /** One sender's only, or all but those of some; as sender-limits.ts names them. */
  senders: { only: string } | { except: readonly string[] };
  /** Due from then until now, both included. */
  from: string;
  now: string;
  countMax: number;
  bytesMax: number;
}

/** In the order in which they fell due, and among those that did together, were accepted. */
export async function readDue(
  db: Kysely<MessagingTables>,
  query: DueQuery,
): Promise<{ messages: OutgoingMessage[]; more: boolean }> {
  const candidates = db
    .selectFrom('messages as m')
    .select(COLUMNS)
    .select([
      'm.due_at',
      'm.accepted_seq',
      size.as('size'),
      sql<number>`sum(${size}) over (order by m.due_at, m.accepted_seq)`.as('bytes'),
    ])
    .where('m.lane', '=', query.lane)
    .where('m.due_at', '>=', sql<Date>`${query.from}::timestamptz`)
    .where('m.due_at', '<=', sql<Date>`${query.now}::timestamptz`)
    .where('m.channel', '=', query.channel)
    // By hash: with "all" each row would be compared to each of some hundreds.
    .where(sql<boolean>`m.id not in (select unnest(${query.except}::text[]))`)
    .where(sql<boolean>`${notHeld('m', query.heldKeys)}`)
    .where(sql<boolean>`${bySender(query.senders)}`)
    .orderBy('m.due_at')
    .orderBy('m.accepted_seq')
    .limit(query.countMax);
  const rows = await db
    .selectFrom(candidates.as('m'))
    .select([...COLUMNS, 'm.size'])
    // The first at any rate, or one that is too large would never leave.
    .where(sql<boolean>`m.bytes - m.size < ${query.bytesMax}`)
    .orderBy('m.due_at')
    .orderBy('m.accepted_seq')
    .execute();
  const bytes = rows.reduce((sum, row) => sum + row.size, 0);
  return { messages: rows.map(outgoing), more: rows.length === query.countMax || bytes >= query.bytesMax };
}

function bySender(senders: DueQuery['senders']) {
  if ('except' in senders && senders.except.length === 0) return sql`true`;
  const name = sql`m.channel || '/' || m.workspace_id || '/' || ${senderKeySql(sql`m.from_address`)}`;
  return 'only' in senders ? sql`${name} = ${senders.only}` : sql`${name} <> all(${senders.except}::text[])`;
}

/** When the next message of the lane falls due, in milliseconds; `undefined` when none waits. */
export async function nextDueMs(
  db: Kysely<MessagingTables>,
  query: { lane: string; channel: Channel; now: string },
): Promise<number | undefined> {
  const { rows } = await sql<{ due_at: Date }>`
    select due_at from messages
    where lane = ${query.lane} and due_at > ${query.now}::timestamptz and channel = ${query.channel}
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
    .selectFrom('messages as m')
    .select([...COLUMNS, size.as('size')])
    .where('m.id', '=', sql<string>`any(${ids}::text[])`)
    .where('m.due_at', 'is not', null)
    .execute();
  return rows.map(outgoing);
}

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
    class: row.class,
    replyTo: row.reply_to ?? undefined,
    voice: row.voice ?? undefined,
    expiresAtMs: row.expires_at?.getTime(),
    segments: row.segments ?? undefined,
    suffix: row.suffix ?? undefined,
    attempt: row.attempt,
    lastCode: row.code ?? undefined,
    size: row.size,
  };
}
