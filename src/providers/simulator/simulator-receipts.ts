import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMITS } from '../../domain/limits';
import type { Receipt, ReceiptSink } from '../provider';
import type { CallStep } from './simulator-calls';
import { nextTurn } from './simulator-journal';
import { delayFactor, type Fate, receiptData, STEPS } from './simulator-outcomes';

/** A message of which the product is still owed receipts. */
export interface Outstanding {
  id: string;
  providerId: string;
  fate: Fate;
  /** Steps of an answered call, used instead of those that its fate gives. */
  steps?: readonly CallStep[] | undefined;
  /** When it was handed over; its receipts' times count from here, in this process and in a later one. */
  atMs: number;
  /** Which of its receipts is next. */
  step: number;
  dueMs: number;
}

/** Where messages beyond the bound wait: the record, from which their receipts can be computed. */
export interface Backlog {
  isEmpty(): boolean;
  /** Messages recorded from this place on wait here. */
  hold(from: number): void;
  /** The next messages still owed receipts, in order of hand-over; none does not mean the backlog is empty. */
  more(): Outstanding[];
  /** The product has taken every receipt of these. */
  taken(ids: string[]): void;
}

export interface ReceiptTiming {
  seed: number;
  /** Delays are multiples of this; at least 1. */
  unitMs: number;
  /** Messages in memory at most. */
  messagesMax: number;
}

/**
 * Tells the product what became of messages: receipts become due one after the other, go to the sink in
 * batches, one batch at a time, and are offered again until it takes them. A message's receipts keep
 * their order. Memory holds at most `messagesMax` messages; others are left to the backlog.
 */
export class ReceiptQueue {
  private readonly heap: Outstanding[] = [];
  private readonly closing = new AbortController();
  private sink: ReceiptSink | undefined;
  private timer: NodeJS.Timeout | undefined;
  private timerDueMs = Number.POSITIVE_INFINITY;
  private delivering: Promise<void> | undefined;

  constructor(
    private readonly backlog: Backlog,
    private readonly timing: ReceiptTiming,
    private readonly log: Logger | undefined,
  ) {}

  start(sink: ReceiptSink): void {
    this.sink = sink;
    this.wakeAt(0);
  }

  /** Takes on messages that the record holds from `from` on. */
  add(messages: Outstanding[], from: number): void {
    if (!this.backlog.isEmpty() || this.heap.length + messages.length > this.timing.messagesMax) {
      this.backlog.hold(from);
      return;
    }
    this.push(messages);
    if (this.heap[0]) this.wakeAt(this.heap[0].dueMs);
  }

  /** Takes on whatever the record holds from `from` on. */
  leave(from: number): void {
    this.backlog.hold(from);
    this.wakeAt(0);
  }

  /** Waits for the sink call that is under way, and makes no other. */
  async close(): Promise<void> {
    this.closing.abort();
    clearTimeout(this.timer);
    await this.delivering;
  }

  private wakeAt(dueMs: number): void {
    if (!this.sink || this.delivering || this.closing.signal.aborted || dueMs >= this.timerDueMs) return;
    clearTimeout(this.timer);
    this.timerDueMs = dueMs;
    this.timer = setTimeout(() => this.deliver(), Math.max(0, dueMs - Date.now()));
  }

  private deliver(): void {
    this.timerDueMs = Number.POSITIVE_INFINITY;
    this.delivering = this.deliverDue().finally(() => {
      this.delivering = undefined;
      if (this.heap[0]) this.wakeAt(this.heap[0].dueMs);
    });
  }

  private async deliverDue(): Promise<void> {
    while (!this.closing.signal.aborted) {
      this.refill();
      const { receipts, finished } = this.takeDue();
      if (receipts.length === 0) {
        if (this.backlog.isEmpty() || this.isFull()) return;
      } else {
        if (!(await this.offer(receipts))) return;
        if (finished.length > 0) this.backlog.taken(finished);
      }
      await nextTurn();
    }
  }

  private refill(): void {
    if (!this.backlog.isEmpty() && !this.isFull()) this.push(this.backlog.more());
  }

  private takeDue(): { receipts: Receipt[]; finished: string[] } {
    const nowMs = Date.now();
    const receipts: Receipt[] = [];
    const finished: string[] = [];
    while (receipts.length < LIMITS.receiptBatch && this.heap[0] && this.heap[0].dueMs <= nowMs) {
      const message = pop(this.heap) as Outstanding;
      receipts.push(this.receiptOf(message));
      message.step++;
      if (message.step === stepsOf(message).length) finished.push(message.id);
      else push(this.heap, this.schedule(message));
    }
    return { receipts, finished };
  }

  /** Answers whether they were taken; they were not when the provider closes first. */
  private async offer(receipts: Receipt[]): Promise<boolean> {
    for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 5_000)) {
      try {
        await this.sink?.(receipts);
        return true;
      } catch (error) {
        this.log?.warn(
          { receipts: receipts.length, err: error },
          'receipts were not taken; offering them again',
        );
      }
      if (this.closing.signal.aborted) return false;
      try {
        await delay(waitMs, undefined, { signal: this.closing.signal });
      } catch {
        return false;
      }
    }
  }

  /** A message without receipts is passed over. */
  private push(messages: Outstanding[]): void {
    for (const message of messages) if (stepsOf(message)[0]) push(this.heap, this.schedule(message));
  }

  private isFull(): boolean {
    return this.heap.length > this.timing.messagesMax / 2;
  }

  private schedule(message: Outstanding): Outstanding {
    const { seed, unitMs } = this.timing;
    const part = stepsOf(message)[message.step]?.part ?? 1;
    message.dueMs = Math.round(message.atMs + unitMs * part * delayFactor(message.id, message.fate, seed));
    return message;
  }

  /** The same at every offer, in a later process too, so that the product recognises a repetition. */
  private receiptOf(message: Outstanding): Receipt {
    const { id, providerId, fate, steps, step, dueMs } = message;
    const { type, code, data: told } = stepsOf(message)[step] as CallStep;
    const data = steps ? told : receiptData(type, fate, id, this.timing.seed);
    return { id, providerId, type, code, at: new Date(dueMs).toISOString(), data };
  }
}

const stepsOf = ({ steps, fate }: Outstanding): readonly CallStep[] => steps ?? STEPS[fate];

/** A binary heap by due time; a timer per message would cost ten times its memory. */
function push(heap: Outstanding[], message: Outstanding): void {
  let at = heap.length;
  heap.push(message);
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up] as Outstanding;
    if (parent.dueMs <= message.dueMs) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = message;
}

function pop(heap: Outstanding[]): Outstanding | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (!last || heap.length === 0) return first;
  let at = 0;
  for (let down = 1; down < heap.length; down = 2 * at + 1) {
    const right = heap[down + 1];
    if (right && right.dueMs < (heap[down] as Outstanding).dueMs) down++;
    const child = heap[down] as Outstanding;
    if (child.dueMs >= last.dueMs) break;
    heap[at] = child;
    at = down;
  }
  heap[at] = last;
  return first;
}
