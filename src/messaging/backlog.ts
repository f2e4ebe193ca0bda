import type { Kysely } from 'kysely';
import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { DispatchMemory } from './dispatch-memory';
import { nextDueMs, readDue } from './due-messages';
import type { Holds } from './holds';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';
import type { MessagingTables } from './tables';

/**
 * What of each lane waits in the table: messages beyond the queues' bound, of a later time, held, or
 * left by a lane's former owner. Keeps for each lane and channel the moment at which reading is worth
 * while, so that an idle service asks the database nothing.
 */
export interface Backlog {
  openLane(lane: Lane, readAtMs: number): void;
  closeLane(lane: Lane): void;
  /** Freshly accepted and due: into memory, unless older ones wait in the table or there is no room. */
  offer(lane: Lane, messages: readonly OutgoingMessage[]): void;
  /** Something of this lane and channel is in the table and due then. */
  expect(lane: Lane, channel: Channel, atMs: number): void;
  expectAll(lanes: Iterable<Lane>): void;
  /** Reads what is worth reading now. `isOpen` says whether a channel's messages could leave. */
  read(isOpen: (channel: Channel) => boolean): void;
  /** When `read` should be called again; Infinity when nothing waits. */
  nextAtMs(): number;
}

interface Slice {
  readonly lane: Lane;
  readonly channel: Channel;
  readAtMs: number;
  reading: boolean;
  /** More was due than one read took: new messages have to queue behind it in the table. */
  behind: boolean;
}

/** Memory is filled up when it is half empty, with as much as there is room for then. */
const READ_MAX = LIMITS.queuedMessages / 2;
const READ_BYTES_MAX = LIMITS.queuedBytes / 2;
/** A lane's former owner may have had an insert under way when it lost the lane. */
const ADOPTED_POLL_MS = 1_000;
const RETRY_MS = 500;

export function createBacklog(deps: {
  db: Kysely<MessagingTables>;
  memory: DispatchMemory;
  holds: Holds;
  onRead(): void;
  onError(error: unknown): void;
}): Backlog {
  const { db, memory, holds, onRead, onError } = deps;
  const slices = new Map<string, Slice>();
  const sliceOf = (lane: Lane, channel: Channel) => slices.get(`${lane.id}/${channel}`);

  function expect(lane: Lane, channel: Channel, atMs: number): void {
    const slice = sliceOf(lane, channel);
    if (!slice) return;
    const isLater = atMs > Date.now();
    const readAtMs = isLater ? Math.ceil(atMs / LIMITS.dueReadMs) * LIMITS.dueReadMs : atMs;
    slice.readAtMs = Math.min(slice.readAtMs, readAtMs);
  }

  async function readSlice(slice: Slice): Promise<void> {
    const { lane, channel } = slice;
    slice.reading = true;
    // What comes up while the query runs sets these again.
    slice.readAtMs = Number.POSITIVE_INFINITY;
    slice.behind = false;
    const watch = memory.watch();
    const now = new Date().toISOString();
    try {
      const { messages, more } = await readDue(db, {
        lane: lane.id,
        channel,
        except: memory.idsInHand(),
        heldKeys: holds.keys(),
        now,
        countMax: READ_MAX,
        bytesMax: READ_BYTES_MAX,
      });
      if (lane.lost) return;
      memory.add(
        lane,
        messages.filter((message) => !watch.departed.has(message.id)),
      );
      if (more) {
        slice.behind = true;
        expect(lane, channel, Date.now());
      } else {
        const next = await nextDueMs(db, { lane: lane.id, channel, now });
        if (next !== undefined) expect(lane, channel, next);
        if (lane.adopted) expect(lane, channel, Date.now() + ADOPTED_POLL_MS);
      }
    } catch (error) {
      onError(error);
      slice.behind = true;
      expect(lane, channel, Date.now() + RETRY_MS);
    } finally {
      watch.end();
      slice.reading = false;
      onRead();
    }
  }

  return {
    openLane(lane, readAtMs) {
      for (const channel of CHANNELS) {
        slices.set(`${lane.id}/${channel}`, { lane, channel, readAtMs, reading: false, behind: false });
      }
    },
    closeLane(lane) {
      for (const channel of CHANNELS) slices.delete(`${lane.id}/${channel}`);
    },
    offer(lane, messages) {
      for (const channel of CHANNELS) {
        const slice = sliceOf(lane, channel);
        const ofChannel = messages.filter((message) => message.channel === channel);
        if (!slice || ofChannel.length === 0) continue;
        if (!slice.behind && hasRoom(memory.queued(channel), ofChannel)) {
          memory.add(lane, ofChannel);
        } else {
          slice.behind = true;
          expect(lane, channel, Date.now());
        }
      }
    },
    expect,
    expectAll(lanes) {
      for (const lane of lanes) for (const channel of CHANNELS) expect(lane, channel, Date.now());
    },
    read(isOpen) {
      const now = Date.now();
      for (const slice of slices.values()) {
        if (slice.reading || slice.readAtMs > now || !isOpen(slice.channel)) continue;
        const { count, bytes } = memory.queued(slice.channel);
        if (count <= READ_MAX && bytes <= READ_BYTES_MAX) void readSlice(slice);
      }
    },
    nextAtMs() {
      let next = Number.POSITIVE_INFINITY;
      for (const slice of slices.values()) {
        if (!slice.reading) next = Math.min(next, slice.readAtMs);
      }
      return next;
    },
  };
}

function hasRoom(load: { count: number; bytes: number }, messages: readonly OutgoingMessage[]): boolean {
  const bytes = messages.reduce((sum, message) => sum + message.size, load.bytes);
  return load.count + messages.length <= LIMITS.queuedMessages && bytes <= LIMITS.queuedBytes;
}
