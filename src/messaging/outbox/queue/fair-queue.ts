import type { MessageClass } from './outbox-count';

/**
 * The order in which messages that could leave do: transactional ones first, then turns by workspace, in a workspace
 * by campaign, in a campaign by sender, one message a turn (deficit round robin with a quantum of one message,
 * because a message is what a carrier counts). A flow is what has a turn of its own at every level.
 *
 * The wait of a message has a bound that depends on who else waits, not on how much they have: with W workspaces,
 * C campaigns in its own and S senders in its campaign, the message at place n of its flow leaves within n·W·C·S
 * messages of its class. One marketing message leaves after `TRANSACTIONAL_RUN` transactional ones, so that
 * a flood of one class does not stop the other.
 */
export interface FlowKey {
  readonly class: MessageClass;
  readonly workspaceId: string;
  readonly campaign: string | undefined;
  readonly sender: string;
}

/** Transactional messages that leave in a row while marketing waits. */
export const TRANSACTIONAL_RUN = 8;

export class FairQueue<Item extends object> {
  private readonly classes: Record<MessageClass, Turns<Item>> = {
    transactional: new Turns(),
    marketing: new Turns(),
  };
  private run = 0;
  /** By how much the taking of a message has changed the run, where it did. */
  private readonly runChanges = new WeakMap<Item, number>();

  size(kind?: MessageClass): number {
    if (kind) return this.classes[kind].size;
    return this.classes.transactional.size + this.classes.marketing.size;
  }

  push(key: FlowKey, item: Item): void {
    this.classes[key.class].push(pathOf(key), item);
  }

  /**
   * They were taken and did not leave: each to the front of its flow, and their flows to the front of their turns, in the
   * order given. Those that were taken last leave then as if they had never been taken. Only what has left counts towards a
   * run: otherwise a carrier that takes some of each lot would have the other class's messages wait for their turn again.
   */
  putBack(items: readonly Item[], keyOf: (item: Item) => FlowKey): void {
    this.undoRun(items);
    for (const kind of ['transactional', 'marketing'] as const) {
      const ofClass = items.flatMap((item) => {
        const key = keyOf(item);
        return key.class === kind ? [{ item, path: pathOf(key) }] : [];
      });
      if (ofClass.length > 0) this.classes[kind].putBack(ofClass);
    }
  }

  /** The next message in order, or the next of one class. */
  take(kind?: MessageClass): Item | undefined {
    if (kind) return this.classes[kind].take();
    const { transactional, marketing } = this.classes;
    const marketingsTurn = this.run >= TRANSACTIONAL_RUN && marketing.size > 0;
    const isTransactional = transactional.size > 0 && !marketingsTurn;
    const before = this.run;
    this.run = isTransactional && marketing.size > 0 ? this.run + 1 : 0;
    const item = (isTransactional ? transactional : marketing).take();
    if (item && this.run !== before) this.runChanges.set(item, this.run - before);
    return item;
  }

  /** Takes one item that matches, whatever its place. */
  takeOne(matches: (item: Item) => boolean): Item | undefined {
    let isFound = false;
    const isIt = (item: Item) => {
      if (isFound || !matches(item)) return false;
      isFound = true;
      return true;
    };
    return this.size() === 0 ? undefined : this.remove(isIt)[0];
  }

  /** Removes the items of a flow that match and answers them. */
  remove(matches: (item: Item) => boolean): Item[] {
    return [...this.classes.transactional.remove(matches), ...this.classes.marketing.remove(matches)];
  }

  private undoRun(items: readonly Item[]): void {
    let undone = 0;
    for (const item of items) {
      undone += this.runChanges.get(item) ?? 0;
      this.runChanges.delete(item);
    }
    this.run = Math.max(0, this.run - undone);
  }
}

const pathOf = ({ workspaceId, campaign = '', sender }: FlowKey) => [workspaceId, campaign, sender] as const;

interface Returned<Item> {
  readonly item: Item;
  readonly path: readonly string[];
}

/** One level of turns, or at the end of a path the items of a flow. */
class Turns<Item> {
  size = 0;
  private children = new Map<string, Turns<Item>>();
  private items: Item[] = [];
  private head = 0;

  push(path: readonly string[], item: Item): void {
    let level: Turns<Item> = this;
    level.size += 1;
    for (const name of path) {
      level = level.child(name);
      level.size += 1;
    }
    level.items.push(item);
  }

  putBack(returned: readonly Returned<Item>[], depth = 0): void {
    this.size += returned.length;
    const byName = new Map<string, Returned<Item>[]>();
    for (const one of returned) {
      const name = one.path[depth];
      if (name === undefined) continue;
      const ofChild = byName.get(name);
      if (ofChild) ofChild.push(one);
      else byName.set(name, [one]);
    }
    if (byName.size === 0) {
      this.items = [...returned.map(({ item }) => item), ...this.items.slice(this.head)];
      this.head = 0;
      return;
    }
    const first = new Map<string, Turns<Item>>();
    for (const [name, ofChild] of byName) {
      const child = this.children.get(name) ?? new Turns<Item>();
      child.putBack(ofChild, depth + 1);
      first.set(name, child);
    }
    for (const [name, child] of this.children) if (!first.has(name)) first.set(name, child);
    this.children = first;
  }

  take(): Item | undefined {
    if (this.size === 0) return undefined;
    this.size -= 1;
    if (this.children.size === 0) return this.takeItem();
    const [first] = this.children;
    const [name, child] = first as [string, Turns<Item>];
    const item = child.take();
    // A flow that had its turn goes behind the others; one that has nothing left is dropped.
    this.children.delete(name);
    if (child.size > 0) this.children.set(name, child);
    return item;
  }

  remove(matches: (item: Item) => boolean): Item[] {
    const removed: Item[] = [];
    const kept: Item[] = [];
    for (const item of this.items.slice(this.head)) (matches(item) ? removed : kept).push(item);
    this.items = kept;
    this.head = 0;
    for (const [name, child] of this.children) {
      removed.push(...child.remove(matches));
      if (child.size === 0) this.children.delete(name);
    }
    this.size -= removed.length;
    return removed;
  }

  private child(name: string): Turns<Item> {
    const known = this.children.get(name);
    if (known) return known;
    const child = new Turns<Item>();
    this.children.set(name, child);
    return child;
  }

  /** Drops what was taken once it is most of the array: a shift per message would cost the whole array. */
  private takeItem(): Item | undefined {
    const item = this.items[this.head++];
    if (this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }
}
