import type { Logger } from 'pino';
import type { IdTable } from './simulator-ids';
import type { Journal } from './simulator-journal';
import type { Backlog, Outstanding } from './simulator-receipts';
import { parseLine, type RecordedHandOver, takenLine } from './simulator-record';

/**
 * The messages whose receipts wait in the record instead of in memory: after a start all of them, later
 * those handed over faster than the product takes receipts.
 */
export class RecordBacklog implements Backlog {
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
