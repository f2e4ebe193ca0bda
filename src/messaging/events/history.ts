import { type RawBuilder, sql } from 'kysely';
import type { MessageState } from '../../domain/message';
import type { CompactEvent, OldEvent, PlainEvent, StoredEvent } from '../model/stored-event';
import type { NewEvent } from './event-rows';

const DATA = 6;

interface Row {
  history: readonly StoredEvent[];
  provider: string | null;
  attempt: number;
}

export function eventsOf({ history, provider, attempt }: Row): OldEvent[] {
  return history.map((stored) => {
    if (typeof stored !== 'string' && !Array.isArray(stored)) return stored;
    const [seq, atMs, type, ofHandOver, state, code, data] =
      typeof stored === 'string' ? membersOf(stored) : stored;
    return {
      ...{ seq, at: new Date(atMs).toISOString(), type, state: state ?? (type as MessageState) },
      ...(typeof code === 'string' ? { code } : {}),
      ...(ofHandOver ? { ...(provider === null ? {} : { provider }), attempt } : {}),
      ...(data ? { data } : {}),
    };
  });
}

function membersOf(plain: PlainEvent): CompactEvent {
  const [seq, atMs, type = '', ofHandOver] = plain.split(' ');
  return [Number(seq), Number(atMs), type, ofHandOver === '+' || null];
}

export function seqOf(stored: StoredEvent): number {
  if (typeof stored === 'string') return membersOf(stored)[0];
  return Array.isArray(stored) ? stored[0] : stored.seq;
}

/** The same event with other data, if it has any. */
export function withData(stored: StoredEvent, change: (data: unknown) => unknown): StoredEvent {
  if (typeof stored === 'string') return stored;
  if (!Array.isArray(stored)) {
    if (stored.data === undefined) return stored;
    return { ...stored, data: change(stored.data) as OldEvent['data'] };
  }
  const data = stored[DATA];
  return data ? (stored.with(DATA, change(data) as Record<string, unknown>) as CompactEvent) : stored;
}

/**
 * An event without its number, which is known only inside the statement: `historyEntry` puts it behind the first
 * two characters.
 */
export function historyText(event: NewEvent, writtenAt: string): string {
  const { type, state, code, attempt, data } = event;
  const atMs = Date.parse(event.at ?? writtenAt);
  const isPlain = state === type && code === undefined && data === undefined && PLAIN_TYPE.test(type);
  if (isPlain) return `[" ${atMs} ${type}${attempt === undefined ? '' : ' +'}"]`;
  const members: unknown[] = [atMs, type];
  const optional = [
    attempt === undefined ? null : true,
    state === type ? null : state,
    code ?? null,
    data ?? null,
  ];
  while (optional.length > 0 && optional.at(-1) === null) optional.pop();
  return `[[,${JSON.stringify([...members, ...optional]).slice(1)}]`;
}

const PLAIN_TYPE = /^\w+$/;

/** SQL for the history entries of a row; `text` comes from `historyText`, `seq` is an int8 expression. */
export function historyEntry(seq: RawBuilder<unknown>, text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(left(${text}, 2) || ${seq} || substr(${text}, 3))::jsonb`;
}
