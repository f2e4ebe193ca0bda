import { type RawBuilder, sql } from 'kysely';
import type { MessageEvent, MessageState } from '../../domain/message';
import type { OutgoingMessage } from '../outbox/outgoing';

/**
 * How events are written. One row of `event_log` holds the events that one statement gave birth to;
 * event i has number `first_seq + i`, and a null holds the place of one that did not come to be.
 */

/** An event before it has a number. Without a time of its own it happened when its row was written. */
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
 * The same event as it is kept with its message, all but its beginning: `historyEntry` puts the number
 * in front, which is known only inside the statement.
 */
export function historyText(event: NewEvent, writtenAt: string): string {
  const { type, state, code, provider, attempt, data } = event;
  return JSON.stringify({ at: event.at ?? writtenAt, type, state, code, provider, attempt, data }).slice(1);
}

/** SQL for the history a row gains; `text` comes from `historyText`, `seq` is an int8 expression. */
export function historyEntry(seq: RawBuilder<unknown>, text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`('[{"seq":' || ${seq} || ',' || ${text} || ']')::jsonb`;
}

/**
 * SQL for a row's `events`: `given.events` as it is when all of its messages were written, else with
 * null in the place of those that are not among the ids of `written`.
 */
export function eventsWritten(written: 'inserted' | 'changed', count: number): RawBuilder<unknown> {
  const ids = sql.table(written);
  return sql`case when (select count(*) from ${ids}) = ${count}::int then given.events else (
    select json_agg(case when w.id is null then null else e.value end order by e.position)
    from json_array_elements(given.events) with ordinality as e(value, position)
    left join ${ids} w on w.id = e.value->>'id'
  ) end`;
}
