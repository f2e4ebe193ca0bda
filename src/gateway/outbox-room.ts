import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { Lot, LotDemand, Room, RoomKind } from './gateway';
import type { HttpAnswer } from './transport';

/**
 * Keeps campaigns below the limit of their service's outbox. They offer messages up to a part of it, in turn,
 * in lots no larger than the room left. The service reports its room with every answer to a send. While
 * campaigns wait, a service that has reported room once is asked for it. A service that never reported room has
 * no known limit: campaigns do not wait, and it is never asked, because the specification has no such call.
 *
 * What waits for an account that is refused, or for a slow sender, may fill that part for days. So a campaign that
 * finds no room may go beyond it by a little: by a quarter of what is free of the next eighth, less what it has in the
 * outbox already (decision 61). Those that fill the outbox have more there than that. Each occurrence of a recurring
 * campaign is counted by itself, because the messages of an earlier one may be what is stuck.
 *
 * Other processes offer too, and their messages on the way are not counted here. The part of the limit that
 * campaigns leave free is larger than those, so that no message is refused.
 */
export class OutboxRoom implements Room {
  /** Unknown until the service has reported it once. */
  private readonly free = new Map<RoomKind, FreeRoom>();
  /** Messages that were offered and not answered yet; also of each run. */
  private readonly underWay = new Map<RoomKind, number>();
  private readonly underWayOf = new Map<string, number>();
  private readonly waiting: Waiting[] = [];
  /** Runs that have so much in the outbox that they are not counted before this time. */
  private readonly large = new Map<string, number>();
  private asking = false;
  /** The service has answered without reporting its room. */
  private isSilent = false;
  private fullSince = 0;
  /** The turn in which a campaign last got a lot. */
  private readonly servedAt = new Map<string, number>();
  private turns = 0;

  constructor(private readonly ask: () => Promise<ReadonlyMap<RoomKind, FreeRoom> | undefined>) {}

  /**
   * A lot of at most this many messages; call `end` when they are answered. Undefined when the signal ends the
   * wait.
   */
  async take(kind: RoomKind, demand: LotDemand): Promise<Lot | undefined> {
    if (demand.most === 0 || this.isUnbounded(kind)) return this.lot({ kind, ...demand }, demand.most);
    if (!this.waiting.some((one) => one.kind === kind)) {
      const count = this.lotSize(kind, demand.most);
      if (count > 0) return this.lot({ kind, ...demand }, count);
    }
    return new Promise((settle) => {
      if (demand.signal.aborted) return settle(undefined);
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(one), 1);
        settle(undefined);
      };
      const one: Waiting = {
        kind,
        ...demand,
        inOutbox: undefined,
        settle: (lot) => {
          demand.signal.removeEventListener('abort', giveUp);
          settle(lot);
        },
      };
      demand.signal.addEventListener('abort', giveUp, { once: true });
      this.waiting.push(one);
      void this.poll();
    });
  }

  /** How long a page without room should give its worker to others: longer, the longer the outbox is full. */
  restMs(): number {
    const fullMs = this.fullSince === 0 ? 0 : performance.now() - this.fullSince;
    return Math.round(Math.min(REST_MAX_MS, REST_MIN_MS + fullMs / 4));
  }

  /** Reads the room that the service reported with an answer. */
  learn({ headers }: HttpAnswer): void {
    const told = headers['x-outbox-room'];
    if (typeof told === 'string') {
      this.note(parseRoom(told));
      this.serve();
    } else if (this.free.size === 0 && !this.isSilent) {
      this.isSilent = true;
      this.serve();
    }
  }

  private note(rooms: ReadonlyMap<RoomKind, FreeRoom>): void {
    for (const [kind, free] of rooms) this.free.set(kind, free);
  }

  private isUnbounded(kind: RoomKind): boolean {
    // The first offer of a process is made without knowing the room; the next one waits for its answer.
    return !this.free.has(kind) && (this.free.size > 0 || this.isSilent || !this.underWay.get(kind));
  }

  private lot(of: OfRun, count: number): Lot {
    this.changeUnderWay(of, count);
    let open = true;
    return {
      count,
      end: () => {
        if (!open) return;
        open = false;
        this.changeUnderWay(of, -count);
        this.serve();
      },
    };
  }

  private changeUnderWay(of: OfRun, by: number): void {
    this.underWay.set(of.kind, (this.underWay.get(of.kind) ?? 0) + by);
    const ofRun = (this.underWayOf.get(keyOf(of)) ?? 0) + by;
    if (ofRun > 0) this.underWayOf.set(keyOf(of), ofRun);
    else this.underWayOf.delete(keyOf(of));
  }

  /** Zero unless it is worth a statement, so that pages do not offer a few messages at a time. */
  private lotSize(kind: RoomKind, most: number): number {
    const free = this.free.get(kind)?.shared;
    const left =
      free === undefined ? (this.underWay.get(kind) ? 0 : most) : free - (this.underWay.get(kind) ?? 0);
    const count = Math.min(most, left);
    return count >= Math.min(most, LIMITS.outboxLotMessages) ? count : 0;
  }

  /** Beyond the campaigns' part. Zero unless it is worth half of all that the run may have there. */
  private besideLotSize(one: Waiting): number {
    if (one.inOutbox === undefined) return 0;
    const left = this.besideOf(one.kind) - (this.underWay.get(one.kind) ?? 0);
    const may = Math.floor(left * LIMITS.outboxBesidePart);
    const count = Math.min(one.most, may - one.inOutbox - (this.underWayOf.get(keyOf(one)) ?? 0));
    return count > 0 && count >= Math.min(one.most, may / 2) ? count : 0;
  }

  private besideOf(kind: RoomKind): number {
    return this.free.get(kind)?.beside ?? 0;
  }

  /** Serves campaigns in turn, however many pages of each wait. */
  private serve(): void {
    for (const kind of new Set(this.waiting.map((one) => one.kind))) {
      for (let next = this.nextOf(kind); next; next = this.nextOf(kind)) {
        const { one, count } = next;
        this.waiting.splice(this.waiting.indexOf(one), 1);
        this.turns += 1;
        this.servedAt.set(one.campaign, this.turns);
        // Its other pages are counted again, since it will have more there.
        for (const other of this.waiting) if (keyOf(other) === keyOf(one)) other.inOutbox = undefined;
        one.settle(this.lot(one, count));
      }
    }
    if (this.waiting.length > 0) return;
    this.fullSince = 0;
    this.servedAt.clear();
  }

  /** Of those for which there is room, the longest-waiting page of the campaign whose last lot is longest ago. */
  private nextOf(kind: RoomKind): { one: Waiting; count: number } | undefined {
    let next: { one: Waiting; count: number } | undefined;
    const share = this.share(kind);
    for (const one of this.waiting) {
      if (one.kind !== kind || (next && this.lastTurn(one) >= this.lastTurn(next.one))) continue;
      const count = this.isUnbounded(kind)
        ? one.most
        : this.lotSize(kind, Math.min(one.most, share)) || this.besideLotSize(one);
      if (count > 0) next = { one, count };
    }
    return next;
  }

  private lastTurn({ campaign }: Waiting): number {
    return this.servedAt.get(campaign) ?? 0;
  }

  private share(kind: RoomKind): number {
    const campaigns = new Set(this.waiting.filter((one) => one.kind === kind).map((one) => one.campaign));
    const each = Math.floor((this.free.get(kind)?.shared ?? 0) / campaigns.size);
    return Math.max(LIMITS.outboxLotMessages, each);
  }

  private async poll(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    this.fullSince ||= performance.now();
    while (this.waiting.length > 0) {
      // If the service does not answer, waiting pages give up by their own time.
      const rooms = this.free.size > 0 ? await this.ask().catch(() => undefined) : undefined;
      if (rooms) this.note(rooms);
      await this.countInOutbox();
      this.serve();
      if (this.waiting.length > 0) await new Promise((done) => setTimeout(done, LIMITS.outboxRoomPollMs));
    }
    this.asking = false;
  }

  /**
   * A run that has more there than it could get beside the others is counted again after seconds. It is the usual one:
   * it has filled the outbox, and waits for room with each of its pages.
   */
  private async countInOutbox(): Promise<void> {
    const now = performance.now();
    for (const [key, untilMs] of this.large) if (untilMs <= now) this.large.delete(key);
    const counted = new Map<string, Promise<number | undefined>>();
    const counting = this.waiting.map(async (one) => {
      const key = keyOf(one);
      if (this.large.has(key)) return;
      const count = counted.get(key) ?? one.countInOutbox().catch(() => undefined);
      counted.set(key, count);
      one.inOutbox = await count;
      if ((one.inOutbox ?? 0) >= this.besideOf(one.kind)) this.large.set(key, now + LARGE_MS);
    });
    await Promise.all(counting);
  }
}

interface OfRun {
  kind: RoomKind;
  run: string;
}

interface Waiting extends LotDemand, OfRun {
  /** Of the run; unknown until it is counted. */
  inOutbox: number | undefined;
  settle(lot: Lot): void;
}

/** What is free of the part that campaigns share, and of it and the part beside it together. */
export interface FreeRoom {
  shared: number;
  beside: number;
}

/** 15,000 messages take longer than this to leave. */
const LARGE_MS = 2_000;

const keyOf = ({ kind, run }: OfRun): string => `${kind} ${run}`;

const REST_MIN_MS = 500;
const REST_MAX_MS = 30_000;

/**
 * How many messages campaigns may still offer, by class and channel, from `marketing=<free>/<bound>, marketing_sms=<free>/<bound>, …`. A
 * channel that is not named where others are has the whole bound; where none is, a service of an earlier build has one for all.
 */
export function parseRoom(text: string): Map<RoomKind, FreeRoom> {
  const named = new Map<string, { free: number; bound: number }>();
  for (const [, kind, free, bound] of text.matchAll(/(\w+)=(\d+)\/(\d+)/g)) {
    named.set(kind as string, { free: Number(free), bound: Number(bound) });
  }
  const rooms = new Map<RoomKind, FreeRoom>();
  for (const [kind, ofClass] of named) {
    if (kind.includes('_')) continue;
    const isByChannel = CHANNELS.some((channel) => named.has(`${kind}_${channel}`));
    for (const channel of CHANNELS) {
      const { bound } = ofClass;
      const { free } = named.get(`${kind}_${channel}`) ?? (isByChannel ? { free: bound } : ofClass);
      rooms.set(`${kind}_${channel}`, campaignRoom(free, bound));
    }
  }
  return rooms;
}

/** By class; a service of an earlier build has no `channels`. */
export type OutboxAnswer = Record<
  string,
  { undelivered: number; channels?: Partial<Record<Channel, number>>; bound: number }
>;

/** The same from the answer of `GET /outbox`. */
export function roomOf(outbox: OutboxAnswer): Map<RoomKind, FreeRoom> {
  const rooms = new Map<RoomKind, FreeRoom>();
  for (const [kind, { undelivered, channels, bound }] of Object.entries(outbox)) {
    for (const channel of CHANNELS) {
      const waiting = channels?.[channel] ?? undelivered;
      rooms.set(`${kind}_${channel}`, campaignRoom(Math.max(0, bound - waiting), bound));
    }
  }
  return rooms;
}

export const campaignRoom = (free: number, bound: number): FreeRoom => ({
  shared: roomOfShare(LIMITS.outboxCampaignShare, free, bound),
  beside: roomOfShare(LIMITS.outboxBesideShare, free, bound),
});

const roomOfShare = (share: number, free: number, bound: number): number =>
  Math.max(0, free - Math.ceil(bound * (1 - share)));
