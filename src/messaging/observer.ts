import type { Channel } from '../domain/channel';
import type { MessageState } from '../domain/message';

/** What somebody may want to count. Told once for many messages; it must not throw, and must be cheap. */
export interface DeliveryObserver {
  /** Messages came to a state: accepted ones too, and those that stay accepted to be tried again. */
  moved(channel: Channel, state: MessageState, count: number): void;
  /** A provider had this many at once and answered. */
  handedOver(channel: Channel, provider: string, count: number, tookMs: number): void;
  /** A carrier began to refuse our account, or takes messages again. */
  accountRefused(channel: Channel, provider: string, refused: boolean): void;
  /** A provider reported this many times. */
  receipts(provider: string, count: number): void;
  /** Receipts by ids that nobody has read were given to their messages, or could be about several. */
  lostIds(provider: string, outcome: 'matched' | 'ambiguous', count: number): void;
}

/** Tells of things by their channel and state, one call for all of a kind. */
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
