import type { MessageEvent, MessageState } from '../../domain/message';

/**
 * How a message keeps its events after the first one, in the column `history`. Each version of the row repeats them, so
 * that most are a text, and the others arrays with their last empty members left out: 31 and 55 bytes for an event that took 150
 * as an object. What stands elsewhere in the row is not repeated. Only events/history.ts reads and writes the forms.
 */
export type StoredEvent = PlainEvent | CompactEvent | OldEvent;

/** `<seq> <atMs> <type>` of an event that has nothing else; a `+` behind it stands for `ofHandOver`. */
export type PlainEvent = string;

export type CompactEvent = [
  seq: number,
  atMs: number,
  type: string,
  /**
   * The event belongs to the hand-over that the row's `provider` and `attempt` name. Neither changes once an event
   * names them, because only messages that wait are handed over.
   */
  ofHandOver?: true | null,
  /** Null when it has the type's name. */
  state?: MessageState | null,
  code?: string | null,
  data?: Record<string, unknown> | null,
];

/** Written before there were arrays. */
export type OldEvent = Omit<MessageEvent, 'uid' | 'id' | 'channel' | 'campaign'>;
