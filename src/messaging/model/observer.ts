import type { Channel } from '../../domain/channel';
import type { MessageState } from '../../domain/message';

/** Events for metrics. Each call covers many messages; it must not throw, and must be cheap. */
export interface DeliveryObserver {
  /** Messages came to a state. Includes accepted messages, and those that stay accepted for another try. */
  moved(channel: Channel, state: MessageState, count: number): void;
  /** A provider took this many messages at once and answered, for this account. */
  handedOver(
    channel: Channel,
    provider: string,
    count: number,
    tookMs: number,
    account?: string | undefined,
  ): void;
  /**
   * How many results of each kind the provider gave for these messages; those that did not leave are not counted.
   * By account, because a channel may have several.
   */
  answered?(channel: Channel, account: string, answers: ReadonlyMap<string, number>): void;
  /** A carrier began to refuse our account, or accepts messages again. */
  accountRefused(channel: Channel, provider: string, refused: boolean): void;
  /** A provider reported this many receipts. */
  receipts(provider: string, count: number): void;
  /** Receipts with an id that we never stored were matched to their messages, or could belong to several. */
  lostIds(provider: string, outcome: 'matched' | 'ambiguous', count: number): void;
}

export interface TracedMessage {
  workspaceId?: string | undefined;
  uid: string;
}

/** Where messages belong in traces, if they are traced (src/tracing). */
export interface MessageTraces {
  /** The request that is under way brings these. */
  accepting(workspaceId: string, messages: readonly TracedMessage[]): void;
  /** A provider was given these, and has answered. */
  left(
    messages: readonly TracedMessage[],
    told: {
      channel: Channel;
      provider: string;
      account: string | undefined;
      startedAtMs: number;
      tookMs: number;
    },
  ): void;
}

/** Reports items by their channel and state, one call for each pair. */
export function tellMoves<T extends { state: MessageState }>(
  observer: DeliveryObserver | undefined,
  things: readonly T[],
  channelOf: (thing: T) => Channel,
): void {
  if (!observer) return;
  const counts = new Map<string, { channel: Channel; state: MessageState; count: number }>();
  for (const thing of things) {
    const { state } = thing;
    const channel = channelOf(thing);
    const key = `${channel} ${state}`;
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { channel, state, count: 1 });
  }
  for (const { channel, state, count } of counts.values()) observer.moved(channel, state, count);
}
