import { type RawBuilder, sql } from 'kysely';
import type { MessageState } from '../../domain/message';
import type { CompactEvent, OldEvent, StoredEvent } from '../model/stored-event';
import type { NewEvent } from './event-rows';

const DATA = 6;

interface Row {
  history: readonly StoredEvent[];
  provider: string | null;
  attempt: number;
}

export function eventsOf({ history, provider, attempt }: Row): OldEvent[] {
  return history.map((stored) => {
    if (!Array.isArray(stored)) return stored;
    const [seq, atMs, type, ofHandOver, state, code, data] = stored;
    return {
      ...{ seq, at: new Date(atMs).toISOString(), type, state: state ?? (type as MessageState) },
      ...(typeof code === 'string' ? { code } : {}),
      ...(ofHandOver ? { ...(provider === null ? {} : { provider }), attempt } : {}),
      ...(data ? { data } : {}),
    };
  });
}

export const seqOf = (stored: StoredEvent): number => (Array.isArray(stored) ? stored[0] : stored.seq);

/** The same event with other data, if it has any. */
export function withData(stored: StoredEvent, change: (data: unknown) => unknown): StoredEvent {
  if (!Array.isArray(stored)) {
    if (stored.data === undefined) return stored;
    return { ...stored, data: change(stored.data) as OldEvent['data'] };
  }
  const data = stored[DATA];
  return data ? (stored.with(DATA, change(data) as Record<string, unknown>) as CompactEvent) : stored;
}

/**
 * An event without its beginning. `historyEntry` puts the number in front, because the number is known only inside
 * the statement.
 */
export function historyText(event: NewEvent, writtenAt: string): string {
  const { type, state, code, attempt, data } = event;
  const members: unknown[] = [Date.parse(event.at ?? writtenAt), type];
  const optional = [
    attempt === undefined ? null : true,
    state === type ? null : state,
    code ?? null,
    data ?? null,
  ];
  while (optional.length > 0 && optional.at(-1) === null) optional.pop();
  return JSON.stringify([...members, ...optional]).slice(1);
}

/** SQL for the history entries of a row; `text` comes from `historyText`, `seq` is an int8 expression. */
export function historyEntry(seq: RawBuilder<unknown>, text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`('[[' || ${seq} || ',' || ${text} || ']')::jsonb`;
}
