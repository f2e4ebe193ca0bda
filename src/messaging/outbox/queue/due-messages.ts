import { type Kysely, type Selectable, sql } from 'kysely';
import { LIMITS } from '../../../domain/limits';
import { WAITING_IN_GROUPS } from '../../model/due-groups';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';

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
  'in_doubt',
  'code',
  'provider',
  'suffix',
  'flow',
] as const;
type Row = Pick<Selectable<MessagingTables['messages']>, (typeof COLUMNS)[number]> & {
  size: number;
  confirms: boolean;
  due_at: Date;
};

/**
 * A confirmation of an opt-out, by the row that owes it: a caller may choose any uid, and for another one the row is not
 * looked for.
 */
const confirms = sql<boolean>`(m.uid like 'reply.%' and exists (
  select from inbound_messages i where i.reply_id = m.id and i.reply = 'stop'))`;

/** Known without fetching the contents, which may lie apart from their row. */
const size = sql<number>`500 + coalesce(octet_length(m.body), 0) + pg_column_size(m.params)`;

export interface DueFlow {
  flow: number;
  /** Messages due from then on, at most so many. */
  from: string;
  countMax: number;
  /** Providers whose messages stay where they are: those of which they may have got something. */
  without?: ReadonlySet<string>;
}

export interface DueQuery {
  partition: string;
  flows: readonly DueFlow[];
  /** Already in hand. */
  except: readonly string[];
  now: string;
  /** Content of each flow's. */
  bytesMax: number;
}

export interface DueMessage {
  message: OutgoingMessage;
  dueMs: number;
}

/** Each flow's in the order in which they fell due, and among those that did together, were accepted. */
export async function readDue(db: Kysely<MessagingTables>, query: DueQuery): Promise<DueMessage[]> {
  const { partition, flows, except, now, bytesMax } = query;
  const columns = sql.join(COLUMNS.map((column) => sql.ref(`m.${column}`)));
  // Nearly never, and the statement stays the usual one without it.
  const staying = flows.some(({ without }) => without?.size)
    ? sql`and (m.attempt = 0 or m.provider is null or m.provider <> all(string_to_array(f.without, E'\\n')))`
    : sql``;
  const { rows } = await sql<Row>`
    select m.* from unnest(
      ${flows.map(({ flow }) => flow)}::int[],
      ${flows.map(({ from }) => from)}::timestamptz[],
      ${flows.map(({ countMax }) => countMax)}::int[],
      ${flows.map(({ without = [] }) => [...without].join('\n'))}::text[]
    ) as f(flow, due_from, count_max, without)
    cross join lateral (
      select ${columns}, m.due_at, m.accepted_seq, ${size} as size, ${confirms} as confirms,
        sum(${size}) over (order by g.due_at, g.first_seq, i.position) as bytes
      from due_groups g ${WAITING_IN_GROUPS}
      where g.lane = ${partition} and g.flow = f.flow and g.due_at >= f.due_from
        and g.due_at <= ${now}::timestamptz
        and i.id not in (select unnest(${except}::text[])) ${staying}
      order by g.due_at, g.first_seq, i.position
      limit f.count_max
    ) m
    where m.bytes - m.size < ${bytesMax}
    order by m.flow, m.due_at, m.accepted_seq
  `.execute(db);
  return rows.map((row) => ({ message: outgoing(row), dueMs: row.due_at.getTime() }));
}

/** When the next message of each flow falls due, in milliseconds; a flow in which none waits is not named. */
export async function nextDueMs(
  db: Kysely<MessagingTables>,
  query: { partition: string; flows: readonly number[]; now: string },
): Promise<Map<number, number>> {
  const { rows } = await sql<{ flow: number; due_at: Date | null }>`
    select f.flow, (
      select g.due_at from due_groups g
      where g.lane = ${query.partition} and g.flow = f.flow and g.due_at > ${query.now}::timestamptz
      order by g.due_at limit 1
    ) as due_at
    from unnest(${query.flows}::int[]) as f(flow)
  `.execute(db);
  return new Map(rows.flatMap(({ flow, due_at }) => (due_at ? [[flow, due_at.getTime()] as const] : [])));
}

/** The first message of each flow of a partition, whenever it is due: one probe of the index a flow. */
export async function firstOfFlows(db: Kysely<MessagingTables>, partition: string): Promise<DueMessage[]> {
  const columns = sql.join([...COLUMNS, 'due_at'].map((column) => sql.ref(`m.${column}`)));
  const { rows } = await sql<Row>`
    with recursive flows as (
      (select ${columns}, 0 as size, ${confirms} as confirms from due_groups g ${WAITING_IN_GROUPS}
        where g.lane = ${partition} order by g.flow, g.due_at, g.first_seq, i.position limit 1)
      union all
      select next.* from flows f cross join lateral (
        select ${columns}, 0 as size, ${confirms} as confirms from due_groups g ${WAITING_IN_GROUPS}
        where g.lane = ${partition} and g.flow > f.flow
        order by g.flow, g.due_at, g.first_seq, i.position limit 1
      ) as next
    )
    select * from flows
  `.execute(db);
  return rows.map((row) => ({ message: outgoing(row), dueMs: row.due_at.getTime() }));
}

/**
 * Makes messages due that an account refused and that wait for its next try. Those of other accounts come too, and wait
 * in memory. Answers whether there were any.
 */
export async function bringRefusedForward(
  db: Kysely<MessagingTables>,
  partitions: readonly string[],
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update messages set due_at = now() where id = any(array(
      select m.id from due_groups g ${WAITING_IN_GROUPS}
      where g.lane = any(${partitions}::text[]) and g.due_at > now()
        and g.due_at < now() + ${LIMITS.accountPauseMaxMs * 2}::int * interval '1 millisecond'
        and m.state = 'accepted' and m.code = 'provider_account' and (m.expires_at is null or m.expires_at > now())
      limit ${LIMITS.handoverBatch}::int for update of m skip locked))`.execute(db);
  return numAffectedRows > 0n;
}

/** Reads the given messages, except those that no longer wait to be handed over. */
export async function readWaiting(
  db: Kysely<MessagingTables>,
  ids: readonly string[],
): Promise<OutgoingMessage[]> {
  const rows = await selectThese(db, ids).where('m.due_at', 'is not', null).execute();
  return rows.map(outgoing);
}

/** The given messages, in whatever state they are. */
export async function readMessages(
  db: Kysely<MessagingTables>,
  ids: readonly string[],
): Promise<OutgoingMessage[]> {
  return (await selectThese(db, ids).execute()).map(outgoing);
}

const selectThese = (db: Kysely<MessagingTables>, ids: readonly string[]) =>
  db
    .selectFrom('messages as m')
    .select([...COLUMNS, 'due_at', size.as('size'), confirms.as('confirms')])
    .where('m.id', '=', sql<string>`any(${ids}::text[])`);

function outgoing(row: Omit<Row, 'due_at'> & { due_at: Date | null }): OutgoingMessage {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    uid: row.uid,
    channel: row.channel,
    // Only messages that have ended lose it.
    to: row.to_address ?? '',
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
    dueMs: row.due_at?.getTime(),
    segments: row.segments ?? undefined,
    suffix: row.suffix ?? undefined,
    confirmsOptOut: row.confirms || undefined,
    flow: row.flow,
    attempt: row.attempt,
    lastCode: row.code ?? undefined,
    // Attempts are counted when their answer is none that says for certain that nothing was taken.
    boundTo: row.attempt > 0 ? (row.provider ?? undefined) : undefined,
    inDoubt: row.in_doubt ?? undefined,
    size: row.size,
  };
}
