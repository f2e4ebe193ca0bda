import { CHANNELS, type Channel } from '../domain/channel';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';

/**
 * The messages that this process has in hand: waiting in a queue, or in a batch. One that is in hand is
 * not read from the table a second time; that a message is in one place only rests on this file.
 *
 * Queues are per lane, channel and workspace, because a batch is; a channel's queues take turns, so that
 * one workspace's campaign does not keep another's single message waiting.
 */
export interface DispatchMemory {
  /** Takes messages into their queues, passing over those already in hand. */
  add(lane: Lane, messages: readonly OutgoingMessage[]): void;
  /** Marks the messages of a batch that was opened before this process had them. */
  claim(messages: readonly OutgoingMessage[]): void;
  /** Messages that wait, and their content. */
  queued(channel: Channel): { readonly count: number; readonly bytes: number };
  /** The next queue's longest-waiting messages; they stay in hand until `letGo`. */
  take(channel: Channel, max: number): { lane: Lane; messages: OutgoingMessage[] } | undefined;
  /** A batch that came to nothing: to the front of its queue. */
  putBack(lane: Lane, messages: readonly OutgoingMessage[]): void;
  letGo(messages: readonly OutgoingMessage[]): void;
  /** Removes messages that wait; those in a batch stay. */
  drop(ids: Iterable<string>): void;
  dropLane(lane: Lane): void;
  idsWaiting(lane: Lane): string[];
  idsInHand(): string[];
  /** Messages that leave the hand from now on: what a query under way saw of them is out of date. */
  watch(): { departed: ReadonlySet<string>; end(): void };
}

interface Queue {
  readonly lane: Lane;
  items: OutgoingMessage[];
  head: number;
}

export function createDispatchMemory(): DispatchMemory {
  const inHand = new Map<string, 'waiting' | 'batched'>();
  const queues = new Map<Channel, Map<string, Queue>>(CHANNELS.map((channel) => [channel, new Map()]));
  const loads = new Map(CHANNELS.map((channel) => [channel, { count: 0, bytes: 0 }]));
  const watchers = new Set<Set<string>>();

  const queuesOf = (channel: Channel) => queues.get(channel) as Map<string, Queue>;
  const loadOf = (channel: Channel) => loads.get(channel) as { count: number; bytes: number };

  function queueOf(lane: Lane, message: OutgoingMessage): Queue {
    const ofChannel = queuesOf(message.channel);
    const key = `${lane.id}/${message.workspaceId}`;
    const existing = ofChannel.get(key);
    if (existing) return existing;
    const queue: Queue = { lane, items: [], head: 0 };
    ofChannel.set(key, queue);
    return queue;
  }

  function count({ channel, size }: OutgoingMessage, sign: 1 | -1): void {
    const load = loadOf(channel);
    load.count += sign;
    load.bytes += sign * size;
  }

  function depart(id: string): void {
    inHand.delete(id);
    for (const departed of watchers) departed.add(id);
  }

  /** The messages stay in their queue's array, and are passed over when their turn comes. */
  function discard(message: OutgoingMessage): void {
    count(message, -1);
    depart(message.id);
  }

  return {
    add(lane, messages) {
      for (const message of messages) {
        if (inHand.has(message.id)) continue;
        inHand.set(message.id, 'waiting');
        queueOf(lane, message).items.push(message);
        count(message, 1);
      }
    },
    claim(messages) {
      for (const message of messages) inHand.set(message.id, 'batched');
    },
    queued: loadOf,
    take(channel, max) {
      const ofChannel = queuesOf(channel);
      for (const [key, queue] of ofChannel) {
        ofChannel.delete(key);
        const messages: OutgoingMessage[] = [];
        while (queue.head < queue.items.length && messages.length < max) {
          const message = queue.items[queue.head++] as OutgoingMessage;
          if (inHand.get(message.id) === 'waiting') messages.push(message);
        }
        if (queue.head < queue.items.length) {
          compact(queue);
          ofChannel.set(key, queue);
        }
        for (const message of messages) {
          inHand.set(message.id, 'batched');
          count(message, -1);
        }
        if (messages.length > 0) return { lane: queue.lane, messages };
      }
      return undefined;
    },
    putBack(lane, messages) {
      const first = messages[0];
      if (!first) return;
      const queue = queueOf(lane, first);
      queue.items = [...messages, ...queue.items.slice(queue.head)];
      queue.head = 0;
      for (const message of messages) {
        inHand.set(message.id, 'waiting');
        count(message, 1);
      }
    },
    letGo(messages) {
      for (const message of messages) depart(message.id);
    },
    drop(ids) {
      const wanted = new Set(ids);
      if (wanted.size === 0) return;
      for (const channel of CHANNELS) {
        for (const queue of queuesOf(channel).values()) {
          for (let i = queue.head; i < queue.items.length; i++) {
            const message = queue.items[i] as OutgoingMessage;
            if (wanted.has(message.id) && inHand.get(message.id) === 'waiting') discard(message);
          }
        }
      }
    },
    dropLane(lane) {
      for (const channel of CHANNELS) {
        const ofChannel = queuesOf(channel);
        for (const [key, queue] of ofChannel) {
          if (queue.lane !== lane) continue;
          ofChannel.delete(key);
          for (const message of queue.items.slice(queue.head)) {
            if (inHand.get(message.id) === 'waiting') discard(message);
          }
        }
      }
    },
    idsWaiting(lane) {
      const ids: string[] = [];
      for (const channel of CHANNELS) {
        for (const queue of queuesOf(channel).values()) {
          if (queue.lane !== lane) continue;
          for (const { id } of queue.items.slice(queue.head)) if (inHand.get(id) === 'waiting') ids.push(id);
        }
      }
      return ids;
    },
    idsInHand: () => [...inHand.keys()],
    watch() {
      const departed = new Set<string>();
      watchers.add(departed);
      return { departed, end: () => watchers.delete(departed) };
    },
  };
}

/** Drops what was taken, once it is most of the array: a shift per message would cost the whole array. */
function compact(queue: Queue): void {
  if (queue.head * 2 < queue.items.length) return;
  queue.items = queue.items.slice(queue.head);
  queue.head = 0;
}
