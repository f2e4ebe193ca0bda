import type { Kysely } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import type { SenderLimits } from '../senders/sender-limits';
import type { MessagingTables } from '../tables';
import type { DispatchMemory } from './dispatch-memory';
import { nextDueMs, readDue } from './due-messages';
import type { Holds } from './holds';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';

/**
 * What of each lane waits in the table: messages beyond the queues' bound, of a later time, held, or
 * left by a lane's former owner. A restrained sender with more than it may send soon is read by itself, so
 * that what it has waiting is not in the way of others. Keeps for each lane and channel the moment at which
 * reading is worth while, so that an idle service asks the database nothing.
 */
export interface Backlog {
  openLane(lane: Lane, readAtMs: number): void;
  closeLane(lane: Lane): void;
  /** Freshly accepted and due: into memory, unless older ones wait in the table or there is no room. */
  offer(lane: Lane, messages: readonly OutgoingMessage[]): void;
  /** A message of this lane and channel is in the table whose time is then, or ANY_TIME. */
  expect(lane: Lane, channel: Channel, dueMs: number): void;
  expectAll(lanes: Iterable<Lane>): void;
  /** Reads what is worth reading now. `isOpen` says whether a channel's messages could leave. */
  read(isOpen: (channel: Channel) => boolean): void;
  /** When `read` should be called again, if nobody has reason to before; Infinity when nothing waits. */
  nextAtMs(isOpen: (channel: Channel) => boolean): number;
}

interface Slice {
  readonly lane: Lane;
  readonly channel: Channel;
  /** A restrained sender that has more in the table than in memory; else everybody who has none. */
  readonly sender: string | undefined;
  readAtMs: number;
  /** Retries fall due one by one: what is due a little later is read with it. */
  notBeforeMs: number;
  reading: boolean;
  /** All that was due until then, and not in hand, has been read. */
  readUpToMs: number;
  /** From then on a reading begins with the oldest again. */
  fullAtMs: number;
  /** More was due than one read took: new messages have to queue behind it in the table. */
  behind: boolean;
}

/** Memory is filled up when it is half empty, with as much as there is room for then. */
const READ_MAX = LIMITS.queuedMessages / 2;
const READ_BYTES_MAX = LIMITS.queuedBytes / 2;
/** Restrained senders are many, and each is read by itself. */
const SENDER_READ_BYTES_MAX = READ_BYTES_MAX / 8;
/** A lane's former owner may have had an insert under way when it lost the lane. */
const ADOPTED_POLL_MS = 1_000;
const RETRY_MS = 500;
/** The time of a message that may have been due for long. */
export const ANY_TIME = 0;

export function createBacklog(deps: {
  db: Kysely<MessagingTables>;
  memory: DispatchMemory;
  holds: Holds;
  limits: Pick<SenderLimits, 'keyOf' | 'queueMax'>;
  onRead(): void;
  onError(error: unknown): void;
}): Backlog {
  const { db, memory, holds, limits, onRead, onError } = deps;
  const slices = new Map<string, Slice>();
  const sliceOf = (lane: Lane, channel: Channel) => slices.get(`${lane.id}/${channel}`);
  const sliceOfSender = (lane: Lane, sender: string) => slices.get(`${lane.id}/${sender}`);

  function openSender(lane: Lane, channel: Channel, sender: string): void {
    const open = sliceOfSender(lane, sender);
    // A read under way may have begun too early to see what is left in the table now.
    if (open) open.readAtMs = Math.min(open.readAtMs, Date.now());
    else slices.set(`${lane.id}/${sender}`, newSlice(lane, channel, { sender, readAtMs: Date.now() }));
  }

  function* sendersOf(lane: Lane): Generator<string> {
    for (const slice of slices.values()) if (slice.sender && slice.lane === lane) yield slice.sender;
  }

  /** Room in memory for what the slice holds. */
  function roomOf({ channel, sender }: Slice): number {
    if (sender === undefined) {
      const { count, bytes } = memory.queued(channel);
      return count <= READ_MAX && bytes <= READ_BYTES_MAX ? READ_MAX : 0;
    }
    const room = roomOfSender(sender);
    return room >= (limits.queueMax(sender) ?? READ_MAX) / 2 || memory.queuedOf(sender) === 0 ? room : 0;
  }

  /** One has always room, so that content that is too much for memory leaves all the same. */
  function roomOfSender(sender: string): number {
    const queued = memory.queuedOf(sender);
    if (memory.restrainedBytes() > LIMITS.queuedBytes) return queued === 0 ? 1 : 0;
    return Math.max(0, (limits.queueMax(sender) ?? READ_MAX) - queued);
  }

  /** A restrained sender's messages as far as there is room for them; the others stay where they are. */
  function addRestrained(lane: Lane, sender: string, messages: readonly OutgoingMessage[]): void {
    const [first] = messages;
    if (!first) return;
    const room = roomOfSender(sender);
    const behind = sliceOfSender(lane, sender) !== undefined || sliceOf(lane, first.channel)?.behind === true;
    if (!behind) memory.add(lane, messages.slice(0, room));
    if (behind || messages.length > room) openSender(lane, first.channel, sender);
  }

  /** What everybody's slice brought up. */
  function addRead(lane: Lane, messages: readonly OutgoingMessage[]): void {
    const { free, restrained } = divide(messages);
    memory.add(lane, free);
    for (const [sender, ofSender] of restrained) addRestrained(lane, sender, ofSender);
  }

  function divide(messages: readonly OutgoingMessage[]) {
    const free: OutgoingMessage[] = [];
    const restrained = new Map<string, OutgoingMessage[]>();
    for (const message of messages) {
      const sender = limits.keyOf(message);
      const ofSender = sender === undefined ? free : restrained.get(sender);
      if (ofSender) ofSender.push(message);
      else restrained.set(sender as string, [message]);
    }
    return { free, restrained };
  }

  function expect(lane: Lane, channel: Channel, dueMs: number): void {
    const slice = sliceOf(lane, channel);
    if (!slice) return;
    slice.readAtMs = Math.min(slice.readAtMs, Math.max(dueMs, slice.notBeforeMs));
    if (dueMs <= slice.readUpToMs) slice.fullAtMs = 0;
  }

  /**
   * From when on messages are to be read. Retries fall due ten times a second, while all that were handed over
   * since the table was last vacuumed stand before them in its index; so mostly only what became due since the
   * last reading is looked at.
   */
  function readFrom(slice: Slice, nowMs: number): number {
    const { lane, sender, behind, fullAtMs, readUpToMs } = slice;
    // Set before the reading, so that what is let go of while it runs is known to be expected again.
    slice.readUpToMs = nowMs;
    if (sender === undefined && !lane.adopted && !behind && nowMs < fullAtMs) return readUpToMs;
    slice.fullAtMs = nowMs + LIMITS.dueFullReadMs;
    return ANY_TIME;
  }

  async function readSlice(slice: Slice): Promise<void> {
    const { lane, channel, sender } = slice;
    const countMax = roomOf(slice);
    slice.reading = true;
    // What comes up while the query runs sets these again.
    slice.readAtMs = Number.POSITIVE_INFINITY;
    const nowMs = Date.now();
    slice.notBeforeMs = nowMs + LIMITS.dueReadMs;
    const from = new Date(readFrom(slice, nowMs)).toISOString();
    slice.behind = false;
    const watch = memory.watch();
    const now = new Date(nowMs).toISOString();
    try {
      const { messages, more } = await readDue(db, {
        lane: lane.id,
        channel,
        except: memory.idsInHand(),
        heldKeys: holds.keys(),
        senders: sender === undefined ? { except: [...sendersOf(lane)] } : { only: sender },
        from,
        now,
        countMax,
        bytesMax: sender === undefined ? READ_BYTES_MAX : SENDER_READ_BYTES_MAX,
      });
      if (lane.lost) return;
      const fresh = messages.filter((message) => !watch.departed.has(message.id));
      if (sender === undefined) addRead(lane, fresh);
      else memory.add(lane, fresh);
      if (more) {
        slice.behind = true;
        slice.readAtMs = Date.now();
      } else {
        if (sender !== undefined && slice.readAtMs === Number.POSITIVE_INFINITY) {
          slices.delete(`${lane.id}/${sender}`);
        }
        const next = await nextDueMs(db, { lane: lane.id, channel, now });
        if (next !== undefined) expect(lane, channel, next);
        if (lane.adopted) expect(lane, channel, Date.now() + ADOPTED_POLL_MS);
      }
    } catch (error) {
      onError(error);
      slice.behind = true;
      slice.readAtMs = Math.min(slice.readAtMs, Date.now() + RETRY_MS);
    } finally {
      watch.end();
      slice.reading = false;
      onRead();
    }
  }

  return {
    openLane(lane, readAtMs) {
      for (const channel of CHANNELS) {
        slices.set(`${lane.id}/${channel}`, newSlice(lane, channel, { sender: undefined, readAtMs }));
      }
    },
    closeLane(lane) {
      for (const [key, slice] of slices) if (slice.lane === lane) slices.delete(key);
    },
    offer(lane, messages) {
      for (const channel of CHANNELS) {
        const slice = sliceOf(lane, channel);
        const ofChannel = messages.filter((message) => message.channel === channel);
        if (!slice || ofChannel.length === 0) continue;
        const { free, restrained } = divide(ofChannel);
        for (const [sender, ofSender] of restrained) addRestrained(lane, sender, ofSender);
        if (free.length === 0) continue;
        if (!slice.behind && hasRoom(memory.queued(channel), free)) {
          memory.add(lane, free);
        } else {
          slice.behind = true;
          expect(lane, channel, ANY_TIME);
        }
      }
    },
    expect,
    expectAll(lanes) {
      for (const lane of lanes) for (const channel of CHANNELS) expect(lane, channel, ANY_TIME);
    },
    read(isOpen) {
      const now = Date.now();
      for (const slice of slices.values()) {
        if (slice.reading || slice.readAtMs > now || !isOpen(slice.channel)) continue;
        if (slice.sender !== undefined && limits.queueMax(slice.sender) === undefined) {
          slices.delete(`${slice.lane.id}/${slice.sender}`);
          expect(slice.lane, slice.channel, ANY_TIME);
        } else if (roomOf(slice) > 0) {
          void readSlice(slice);
        }
      }
    },
    nextAtMs(isOpen) {
      const now = Date.now();
      let next = Number.POSITIVE_INFINITY;
      for (const slice of slices.values()) {
        // What could be read but for a lack of room, or a pause, is looked at again when that ends.
        const waitsForOthers = slice.readAtMs <= now && (!isOpen(slice.channel) || roomOf(slice) === 0);
        if (!slice.reading && !waitsForOthers) next = Math.min(next, slice.readAtMs);
      }
      return next;
    },
  };
}

function newSlice(
  lane: Lane,
  channel: Channel,
  { sender, readAtMs }: Pick<Slice, 'sender' | 'readAtMs'>,
): Slice {
  const isNew = { notBeforeMs: 0, reading: false, readUpToMs: 0, fullAtMs: 0 };
  return { lane, channel, sender, readAtMs, ...isNew, behind: sender !== undefined };
}

function hasRoom(load: { count: number; bytes: number }, messages: readonly OutgoingMessage[]): boolean {
  const bytes = messages.reduce((sum, message) => sum + message.size, load.bytes);
  return load.count + messages.length <= LIMITS.queuedMessages && bytes <= LIMITS.queuedBytes;
}
