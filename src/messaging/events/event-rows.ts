import { type RawBuilder, sql } from 'kysely';
import type { MessageEvent, MessageState } from '../../domain/message';
import type { OutgoingMessage } from '../model/outgoing';

/**
 * How events are written. One row of `event_log` holds the events of one statement. Event i has number
 * `first_seq + i`; a null stands for an event whose message was not written.
 */

/** An event without its number yet. Without a time of its own, it happened when its row was written. */
export type NewEvent = Omit<MessageEvent, 'seq' | 'at'> & { at?: string | undefined };

export function eventOf(
  message: Pick<OutgoingMessage, 'uid' | 'id' | 'channel' | 'campaign'>,
  change: { type: string; state: MessageState } & Pick<
    NewEvent,
    'at' | 'code' | 'provider' | 'attempt' | 'data'
  >,
): NewEvent {
  const { uid, id, channel, campaign } = message;
  return { uid, id, channel, campaign, ...change };
}

/**
 * SQL for a row's `events`: `given.events` unchanged when all of its messages were written. Otherwise a null
 * replaces each event whose message is not among the ids of `written`.
 */
export function eventsWritten(written: 'inserted' | 'changed', count: number): RawBuilder<unknown> {
  const ids = sql.table(written);
  return sql`case when (select count(*) from ${ids}) = ${count}::int then given.events else (
    select json_agg(case when w.id is null then null else e.value end order by e.position)
    from json_array_elements(given.events) with ordinality as e(value, position)
    left join ${ids} w on w.id = e.value->>'id'
  ) end`;
}

/**
 * SQL for the transaction that reads events and stores copies of them: until it ends, none of the workspace is erased, so
 * that an erasure finds either the copies, or readers who read what it has left.
 */
export const whileCopied = (workspaceId: string): RawBuilder<unknown> =>
  sql`select pg_advisory_xact_lock_shared(${lockOf(workspaceId)})`;

/** SQL for the transaction that erases events and their copies. */
export const whileErased = (workspaceId: string): RawBuilder<unknown> =>
  sql`select pg_advisory_xact_lock(${lockOf(workspaceId)})`;

const lockOf = (workspaceId: string) => sql`hashtextextended(${`events of ${workspaceId}`}, 0)`;
