import { CHANNELS, type Channel } from '../../domain/channel';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';

/**
 * The messages that this process has in hand: waiting in a queue, or in a batch. One that is in hand is
 * not read from the table a second time; that a message is in one place only rests on this file.
 *
 * Queues are per lane, channel and workspace, because a batch is; a channel's queues take turns, so that
 * one workspace's campaign does not keep another's single message waiting. A restrained sender has queues
 * of its own, which wait while it may not send: nobody stands behind it. Its messages are bounded by
 * themselves, so that they take up none of the room of the others.
 */
export interface DispatchMemory {
  /** Takes messages into their queues, passing over those already in hand. */
  add(lane: Lane, messages: readonly OutgoingMessage[]): void;
  /** Marks the messages of a batch that was opened before this process had them. */
  claim(messages: readonly OutgoingMessage[]): void;
  /** Messages of unrestrained senders that wait, and their content. */
  queued(channel: Channel): { readonly count: number; readonly bytes: number };
  /** Messages of a restrained sender that wait. */
  queuedOf(sender: string): number;
  /** Content of the messages of all restrained senders that wait. */
  restrainedBytes(): number;
  /** Messages that could be taken now. */
  ready(channel: Channel, nowMs: number): number;
  /** The next queue's longest-waiting messages; they stay in hand until `letGo`. */
  take(channel: Channel, max: number, nowMs: number): Taken | undefined;
  /** A restrained sender whose messages were taken may send on, from then on. */
  resume(sender: string, fromMs: number): void;
  /** The channel's senders that wait may be asked for again at once. */
  resumeAll(channel: Channel): void;
  /** When the first sender that waits may send on; Infinity when none does. */
  nextResumeMs(nowMs: number): number;
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

export interface Taken {
  lane: Lane;
  messages: OutgoingMessage[];
  /** Whom to `resume`. */
  sender: string | undefined;
}

interface Load {
  count: number;
  bytes: number;
}

/** A restrained sender with messages in hand. While a batch of it is being admitted, no other is taken. */
interface Sender {
  readonly key: string;
  readonly load: Load;
  resumeAtMs: number;
}

interface Queue {
  readonly lane: Lane;
  readonly load: Load;
  readonly sender: Sender | undefined;
  items: OutgoingMessage[];
  head: number;
}

/** Senders that have nothing in hand are forgotten when there are more. */
const SENDERS_KEPT = 1_000;

export function createDispatchMemory(
  /** Names the sender of a message if it is restrained (sender-limits.ts). */
  senderOf: (message: OutgoingMessage) => string | undefined,
): DispatchMemory {
  /** The queue in which a message waits. */
  const inHand = new Map<string, Queue | 'batched'>();
  const queues = new Map<Channel, Map<string, Queue>>(CHANNELS.map((channel) => [channel, new Map()]));
  const loads = new Map(CHANNELS.map((channel) => [channel, { count: 0, bytes: 0 }]));
  const senders = new Map<string, Sender>();
  let sweepAt = SENDERS_KEPT;
  let restrainedBytes = 0;
  const watchers = new Set<Set<string>>();

  const queuesOf = (channel: Channel) => queues.get(channel) as Map<string, Queue>;
  const loadOf = (channel: Channel) => loads.get(channel) as Load;

  function queueOf(lane: Lane, message: OutgoingMessage): Queue {
    const ofChannel = queuesOf(message.channel);
    const senderKey = senderOf(message);
    const key = `${lane.id}/${senderKey ?? message.workspaceId}`;
    const existing = ofChannel.get(key);
    if (existing) return existing;
    const sender = senderKey === undefined ? undefined : senderNamed(senderKey);
    const queue: Queue = { lane, sender, load: sender?.load ?? loadOf(message.channel), items: [], head: 0 };
    ofChannel.set(key, queue);
    return queue;
  }

  function senderNamed(key: string): Sender {
    const sender = senders.get(key) ?? { key, load: { count: 0, bytes: 0 }, resumeAtMs: 0 };
    senders.set(key, sender);
    if (senders.size > sweepAt) forgetIdleSenders(sender);
    return sender;
  }

  function forgetIdleSenders(but: Sender): void {
    const needed = new Set<Sender | undefined>([but]);
    for (const queue of allQueues()) needed.add(queue.sender);
    for (const [key, sender] of senders) {
      if (!needed.has(sender) && sender.resumeAtMs !== Number.POSITIVE_INFINITY) senders.delete(key);
    }
    sweepAt = Math.max(SENDERS_KEPT, senders.size * 2);
  }

  function enter(queue: Queue, message: OutgoingMessage): void {
    inHand.set(message.id, queue);
    change(queue, message, 1);
  }

  /** From its queue to somewhere else in hand. The array still holds it, and is passed over there. */
  function leave(queue: Queue, message: OutgoingMessage): void {
    change(queue, message, -1);
    inHand.set(message.id, 'batched');
  }

  function change({ load, sender }: Queue, { size }: OutgoingMessage, sign: 1 | -1): void {
    load.count += sign;
    load.bytes += sign * size;
    if (sender) restrainedBytes += sign * size;
  }

  function depart(id: string): void {
    inHand.delete(id);
    for (const departed of watchers) departed.add(id);
  }

  function* waitingIn(queue: Queue): Generator<OutgoingMessage> {
    for (let i = queue.head; i < queue.items.length; i++) {
      const message = queue.items[i] as OutgoingMessage;
      if (inHand.get(message.id) === queue) yield message;
    }
  }

  function* allQueues(): Generator<Queue> {
    for (const channel of CHANNELS) yield* queuesOf(channel).values();
  }

  const mayBeTaken = ({ sender }: Queue, nowMs: number) => sender === undefined || sender.resumeAtMs <= nowMs;

  /** Senders may have been restrained since their messages joined the queue of everybody: they move. */
  function takeFrom(queue: Queue, max: number): OutgoingMessage[] {
    const messages: OutgoingMessage[] = [];
    while (queue.head < queue.items.length && messages.length < max) {
      const message = queue.items[queue.head++] as OutgoingMessage;
      if (inHand.get(message.id) !== queue) continue;
      leave(queue, message);
      if (queue.sender || senderOf(message) === undefined) {
        messages.push(message);
      } else {
        const own = queueOf(queue.lane, message);
        own.items.push(message);
        enter(own, message);
      }
    }
    return messages;
  }

  return {
    add(lane, messages) {
      for (const message of messages) {
        if (inHand.has(message.id)) continue;
        const queue = queueOf(lane, message);
        queue.items.push(message);
        enter(queue, message);
      }
    },
    claim(messages) {
      for (const message of messages) inHand.set(message.id, 'batched');
    },
    queued: loadOf,
    queuedOf: (sender) => senders.get(sender)?.load.count ?? 0,
    restrainedBytes: () => restrainedBytes,
    ready(channel, nowMs) {
      let { count } = loadOf(channel);
      if (senders.size === 0) return count;
      for (const { sender, items, head } of queuesOf(channel).values()) {
        if (sender && sender.resumeAtMs <= nowMs) count += items.length - head;
      }
      return count;
    },
    take(channel, max, nowMs) {
      const ofChannel = queuesOf(channel);
      for (const [key, queue] of ofChannel) {
        if (!mayBeTaken(queue, nowMs)) continue;
        ofChannel.delete(key);
        const messages = takeFrom(queue, max);
        if (queue.head < queue.items.length) {
          compact(queue);
          ofChannel.set(key, queue);
        }
        if (messages.length === 0) continue;
        if (queue.sender) queue.sender.resumeAtMs = Number.POSITIVE_INFINITY;
        return { lane: queue.lane, messages, sender: queue.sender?.key };
      }
      return undefined;
    },
    resume(key, fromMs) {
      const sender = senders.get(key);
      if (sender) sender.resumeAtMs = fromMs;
    },
    resumeAll(channel) {
      for (const { sender } of queuesOf(channel).values()) {
        if (sender && sender.resumeAtMs !== Number.POSITIVE_INFINITY) sender.resumeAtMs = 0;
      }
    },
    nextResumeMs(nowMs) {
      let next = Number.POSITIVE_INFINITY;
      for (const { load, resumeAtMs } of senders.values()) {
        if (load.count > 0 && resumeAtMs > nowMs) next = Math.min(next, resumeAtMs);
      }
      return next;
    },
    putBack(lane, messages) {
      const returned = new Map<Queue, OutgoingMessage[]>();
      for (const message of messages) {
        const queue = queueOf(lane, message);
        const ofQueue = returned.get(queue);
        if (ofQueue) ofQueue.push(message);
        else returned.set(queue, [message]);
        enter(queue, message);
      }
      for (const [queue, ofQueue] of returned) {
        queue.items = [...ofQueue, ...queue.items.slice(queue.head)];
        queue.head = 0;
      }
    },
    letGo(messages) {
      for (const message of messages) depart(message.id);
    },
    drop(ids) {
      const wanted = new Set(ids);
      if (wanted.size === 0) return;
      for (const queue of allQueues()) {
        for (const message of [...waitingIn(queue)]) {
          if (!wanted.has(message.id)) continue;
          leave(queue, message);
          depart(message.id);
        }
      }
    },
    dropLane(lane) {
      for (const channel of CHANNELS) {
        const ofChannel = queuesOf(channel);
        for (const [key, queue] of ofChannel) {
          if (queue.lane !== lane) continue;
          ofChannel.delete(key);
          for (const message of [...waitingIn(queue)]) {
            leave(queue, message);
            depart(message.id);
          }
        }
      }
    },
    idsWaiting(lane) {
      const ids: string[] = [];
      for (const queue of allQueues()) {
        if (queue.lane === lane) for (const { id } of waitingIn(queue)) ids.push(id);
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
