import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from './outgoing';

/**
 * Groups work that arrives while earlier work is being written: one statement and one commit for all of it.
 * Each item's answer waits for the commit that holds the item. Each key writes one group at a time. Under load
 * the groups grow, and an idle service writes each item at once.
 */
export interface GroupCommit<Item, Answer> {
  /** Returns one outcome per item, in order. Items of one call may be split over groups. */
  add(key: string, items: readonly Item[]): Promise<Outcome<Answer>[]>;
  /** Items and bytes that wait or are being written. */
  readonly load: { count: number; bytes: number };
  /** Resolves when no item waits or is being written. */
  idle(): Promise<void>;
}

interface Options<Item, Answer> {
  /** Writes a group; throws when nothing of it was written. */
  commit(key: string, items: Item[]): Promise<Outcome<Answer>[]>;
  /** Whether one item has caused the failure, so that the others are tried again. */
  isPoison(error: unknown): boolean;
  sizeOf(item: Item): number;
  countMax: number;
  bytesMax: number;
  /** How long a group waits for more items, if the previous group was large. */
  lingerMs: number;
}

const CROWD = 5;

interface Waiting<Item, Answer> {
  item: Item;
  size: number;
  settle(outcome: Outcome<Answer>): void;
}

export function createGroupCommit<Item, Answer>(options: Options<Item, Answer>): GroupCommit<Item, Answer> {
  return new GroupCommitter(options);
}

class GroupCommitter<Item, Answer> implements GroupCommit<Item, Answer> {
  private readonly waiting = new Map<string, Waiting<Item, Answer>[]>();
  readonly load = { count: 0, bytes: 0 };
  private becameIdle: (() => void)[] = [];

  constructor(private readonly options: Options<Item, Answer>) {}

  readonly add: GroupCommit<Item, Answer>['add'] = (key, items) => {
    if (items.length === 0) return Promise.resolve([]);
    return new Promise((done) => {
      const outcomes: Outcome<Answer>[] = new Array(items.length);
      let open = items.length;
      const running = this.waiting.get(key);
      const queue = running ?? [];
      items.forEach((item, i) => {
        const size = this.options.sizeOf(item);
        this.load.count += 1;
        this.load.bytes += size;
        const settle = (outcome: Outcome<Answer>) => {
          outcomes[i] = outcome;
          open -= 1;
          if (open === 0) done(outcomes);
        };
        queue.push({ item, size, settle });
      });
      if (running) return;
      this.waiting.set(key, queue);
      void this.work(key, queue);
    });
  };

  readonly idle: GroupCommit<Item, Answer>['idle'] = () =>
    this.waiting.size === 0 ? Promise.resolve() : new Promise((done) => this.becameIdle.push(() => done()));

  /** Runs while its key has items; the map's entry shows that it runs. */
  private async work(key: string, queue: Waiting<Item, Answer>[]): Promise<void> {
    // Wait one turn of the event loop, so that requests read from their sockets in it join the group.
    await new Promise((turn) => setImmediate(turn));
    let crowd = 0;
    while (queue.length > 0) {
      // Callers that were just answered send their next items. Waiting for them halves the number of commits.
      if (crowd >= CROWD && queue.length < 2 * crowd) await delay(this.options.lingerMs);
      const group = nextGroup(queue, this.options);
      crowd = group.length;
      const outcomes = await this.commitGroup(key, group);
      group.forEach((one, i) => {
        this.load.count -= 1;
        this.load.bytes -= one.size;
        one.settle(outcomes[i] as Outcome<Answer>);
      });
    }
    this.waiting.delete(key);
    if (this.waiting.size > 0) return;
    for (const tell of this.becameIdle) tell();
    this.becameIdle = [];
  }

  /** A group that fails because of one item is halved until that item fails alone. */
  private async commitGroup(key: string, group: Waiting<Item, Answer>[]): Promise<Outcome<Answer>[]> {
    try {
      return await this.options.commit(
        key,
        group.map((one) => one.item),
      );
    } catch (error) {
      if (group.length === 1 || !this.options.isPoison(error)) return group.map(() => ({ ok: false, error }));
      const middle = group.length >> 1;
      const first = await this.commitGroup(key, group.slice(0, middle));
      return [...first, ...(await this.commitGroup(key, group.slice(middle)))];
    }
  }
}

function nextGroup<Item, Answer>(
  queue: Waiting<Item, Answer>[],
  { countMax, bytesMax }: Options<Item, Answer>,
): Waiting<Item, Answer>[] {
  let count = 0;
  for (let bytes = 0; count < Math.min(queue.length, countMax); count++) {
    bytes += queue[count]?.size ?? 0;
    if (count > 0 && bytes > bytesMax) break;
  }
  return queue.splice(0, count);
}
