import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import type { CallDocuments } from '../../domain/voice/call-documents';
import {
  anyMayLeave,
  type HandOver,
  type HandOverResult,
  type MayLeave,
  type Provider,
  type ReceiptSink,
} from '../provider';
import {
  createSimulatedCalls,
  type FollowedCalls,
  type SimulatedCalls,
  type SpeechLength,
} from './simulator-calls';
import { hash64, IdTable } from './simulator-ids';
import { Journal } from './simulator-journal';
import { type Fate, fateOf, type Plan, planFor } from './simulator-outcomes';
import { type Backlog, type Outstanding, ReceiptQueue } from './simulator-receipts';
import {
  handOverLine,
  idOfLine,
  parseLine,
  type RecordedHandOver,
  recordFile,
  takenLine,
} from './simulator-record';

export interface SimulatorOptions {
  channel: Channel;
  /** Holds the record of every channel; outlives the process. */
  directory: string;
  /** Same seed, same addresses and ids: same outcomes. */
  seed: number;
  /** How long the answer to a batch takes, and the measure of its receipts' delays. */
  latencyMs: number;
  /** False stands for a carrier that knows no keys: what it is given twice, it delivers twice. */
  idempotent?: boolean | undefined;
  /** Tells how long texts take; without one that is estimated. */
  speechMs?: SpeechLength | undefined;
  /** Fetches the documents that a call goes on with. */
  documents?: CallDocuments | undefined;
  log?: Logger | undefined;
}

/**
 * A carrier that reaches no real recipient, for demonstrations, tests and benchmarks. It behaves as one
 * outside the process would: it has a record of its own (simulator-record.ts), written before it answers, and
 * goes on where it was after a kill. What it does with an address is described in simulator-outcomes.ts.
 */
export async function openSimulator(options: SimulatorOptions): Promise<Provider> {
  const ids = new IdTable();
  const file = recordFile(options.directory, options.channel);
  const journal = await Journal.open(file, (line) => takeInLine(ids, line));
  return new Simulator(options, ids, journal);
}

class Simulator implements Provider {
  readonly name = 'simulator';
  readonly channel: Channel;
  readonly capabilities: Provider['capabilities'];
  private readonly receipts: ReceiptQueue;
  private readonly closing = new AbortController();
  /** Ids that were throttled and not taken since. */
  private readonly throttled = new Set<string>();
  /** Voice only. */
  private readonly calls: SimulatedCalls | undefined;

  constructor(
    private readonly options: SimulatorOptions,
    private readonly ids: IdTable,
    private readonly journal: Journal,
  ) {
    this.channel = options.channel;
    const idempotent = options.idempotent ?? true;
    const batchMax = LIMITS.handoverBatch;
    this.capabilities = { idempotent, receipts: true, batchMax, parallel: batchMax };
    const backlog = new RecordBacklog(ids, journal, options.log);
    const messagesMax = options.channel === 'voice' ? LIMITS.simulatorCalls : LIMITS.simulatorReceipts;
    const timing = { seed: options.seed, unitMs: Math.max(1, options.latencyMs), messagesMax };
    if (options.channel === 'voice') {
      const { seed, speechMs: measure, documents } = options;
      this.calls = createSimulatedCalls({ seed, measure, documents });
    }
    this.receipts = new ReceiptQueue(backlog, timing, options.log);
  }

  async start(sink: ReceiptSink): Promise<void> {
    this.receipts.start(sink);
  }

  async handOver(messages: readonly HandOver[], mayLeave: MayLeave = anyMayLeave): Promise<HandOverResult[]> {
    if (messages.length > this.capabilities.batchMax) {
      throw new RangeError(
        `${messages.length} messages in a hand-over of at most ${this.capabilities.batchMax}`,
      );
    }
    if (this.closing.signal.aborted) return messages.map(() => ({ kind: 'transient', code: 'closed' }));
    const followed = this.calls ? await this.followed(this.calls, messages) : NOBODY;
    if (this.closing.signal.aborted) return messages.map(() => ({ kind: 'transient', code: 'closed' }));
    this.journal.catchUp();
    const at = new Date();
    const batch: Batch = { at: at.toISOString(), atMs: at.getTime(), lines: '', taken: new Map(), followed };
    const results = messages.map((message) => this.decide(message, batch, mayLeave));
    if (batch.taken.size > 0 && !this.record(batch)) {
      return messages.map(() => ({ kind: 'transient', code: 'record_not_writable' }));
    }
    if (this.options.latencyMs > 0) {
      // Closing cuts the wait short, not the answer.
      await delay(this.options.latencyMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
    }
    return results;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.receipts.close();
    this.journal.close();
  }

  private decide(message: HandOver, batch: Batch, mayLeave: MayLeave): HandOverResult {
    const providerId = `sim-${hex(hash64(message.id, this.options.seed))}`;
    const isKnown = this.ids.has(message.id) || batch.taken.has(message.id);
    if (isKnown && this.capabilities.idempotent) return { kind: 'accepted', providerId };
    if (!mayLeave(message)) return { kind: 'stayed' };
    const plan = planFor(message, this.options.seed);
    const refusal = this.refusal(plan, message);
    if (refusal) return refusal;
    this.take(message, plan, providerId, batch);
    return plan.answer === 'lost' ? { kind: 'unknown' } : { kind: 'accepted', providerId };
  }

  private followed(calls: SimulatedCalls, messages: readonly HandOver[]): Promise<FollowedCalls> {
    return calls.prepare(messages, (message) => this.fateToCome(message), this.closing.signal);
  }

  /** `undefined` for one that will not be taken, or was before. */
  private fateToCome(message: HandOver): Fate | undefined {
    if (this.ids.has(message.id) && this.capabilities.idempotent) return undefined;
    const plan = planFor(message, this.options.seed);
    const fate = fateOf(plan, message.uid);
    switch (plan.answer) {
      case 'accepted':
      case 'lost':
        return fate;
      case 'transient_once':
        return message.attempt > 1 ? fate : undefined;
      case 'throttled_once':
        return this.throttled.has(message.id) ? fate : undefined;
      default:
        return undefined;
    }
  }

  private refusal(plan: Plan, message: HandOver): HandOverResult | undefined {
    switch (plan.answer) {
      case 'accepted':
      case 'lost':
        return undefined;
      case 'rejected':
        return { kind: 'rejected', code: 'unknown_recipient', message: 'No such recipient' };
      case 'account':
        return { kind: 'account', code: 'account_closed', message: 'The account is closed' };
      case 'transient':
        return { kind: 'transient', code: 'temporary_failure' };
      case 'transient_once':
        return message.attempt > 1 ? undefined : { kind: 'transient', code: 'temporary_failure' };
      case 'throttled_once': {
        if (this.throttled.delete(message.id)) return undefined;
        // Beyond the bound a recipient is let through the first time, which does no harm.
        if (this.throttled.size >= LIMITS.simulatorReceipts) return undefined;
        this.throttled.add(message.id);
        return { kind: 'throttled', retryAfterMs: 10 * Math.max(1, this.options.latencyMs) };
      }
    }
  }

  private take(message: HandOver, plan: Plan, providerId: string, batch: Batch): void {
    const { id, uid, attempt } = message;
    const fate = fateOf(plan, uid);
    const to = hash('sha256', message.to, 'hex').slice(0, 12);
    const steps = this.calls?.stepsOf(message, fate, batch.followed);
    batch.lines += handOverLine({ id, at: batch.at, uid, attempt, providerId, to, outcome: fate, steps });
    batch.taken.set(id, { id, providerId, fate, steps, atMs: batch.atMs, step: 0, dueMs: 0 });
  }

  /** Answers false if the record could not be written; what was written of it counts all the same. */
  private record(batch: Batch): boolean {
    const from = this.journal.position();
    try {
      this.journal.append(batch.lines);
    } catch (error) {
      this.options.log?.error({ err: error, channel: this.channel }, 'the simulator cannot write its record');
      this.receipts.leave(from);
      return false;
    }
    for (const id of batch.taken.keys()) this.ids.add(id);
    this.receipts.add([...batch.taken.values()], from);
    return true;
  }
}

interface Batch {
  at: string;
  atMs: number;
  /** Lines about the taken messages, not yet written to the record. */
  lines: string;
  taken: Map<string, Outstanding>;
  followed: FollowedCalls;
}

const NOBODY: FollowedCalls = new Map();

/** What a line of the record, of this process or another, says about ids. */
function takeInLine(ids: IdTable, line: string): void {
  const id = idOfLine(line);
  if (id !== undefined) {
    ids.add(id);
    return;
  }
  const entry = parseLine(line);
  if (entry && 'taken' in entry) for (const taken of entry.taken) ids.mark(taken);
}

function hex({ low, high }: { low: number; high: number }): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/**
 * The messages whose receipts wait in the record instead of in memory: after a start all of them, later
 * those handed over faster than the product takes receipts.
 */
class RecordBacklog implements Backlog {
  private from: number | undefined = 0;

  constructor(
    private readonly ids: IdTable,
    private readonly journal: Journal,
    private readonly log: Logger | undefined,
  ) {}

  isEmpty(): boolean {
    return this.from === undefined;
  }

  hold(from: number): void {
    this.from ??= from;
  }

  more(): Outstanding[] {
    if (this.from === undefined) return [];
    const { lines, next, isLast } = this.journal.readFrom(this.from);
    this.from = isLast ? undefined : next;
    const messages: Outstanding[] = [];
    for (const line of lines) {
      const entry = this.handOverOf(line);
      if (!entry) continue;
      const { id, providerId, outcome, steps } = entry;
      messages.push({ id, providerId, fate: outcome, steps, atMs: Date.parse(entry.at), step: 0, dueMs: 0 });
    }
    return messages;
  }

  taken(ids: string[]): void {
    for (const id of ids) this.ids.mark(id);
    try {
      this.journal.append(takenLine(ids, new Date().toISOString()));
    } catch (error) {
      // Their receipts are reported again after the next start, which the product must bear anyway.
      this.log?.error({ err: error }, 'the simulator cannot write its record');
    }
  }

  private handOverOf(line: string): RecordedHandOver | undefined {
    const entry = parseLine(line);
    return entry && 'id' in entry && !this.ids.isMarked(entry.id) ? entry : undefined;
  }
}
