import { inspect } from 'node:util';
import { LIMITS } from './domain/limits';

/**
 * Which warnings are written: the first of equal ones at once, and then one a minute that says how many there were.
 * Loops that try again several times a second would else fill the log with one error while a database is away, and what
 * it began with would be lost among thousands of stacks.
 */
export class EqualWarnings {
  private readonly written = new Map<string, { atMs: number; more: number }>();

  /** Returns the number of equal warnings that this one is written for, or undefined if it is not. */
  note(fields: object, message: string | undefined, nowMs: number = Date.now()): number | undefined {
    const key = keyOf(fields, message);
    const last = this.written.get(key);
    if (last && nowMs - last.atMs < LIMITS.warningsEqualMs) {
      last.more += 1;
      return undefined;
    }
    const [oldest] = this.written.keys();
    if (!last && this.written.size >= LIMITS.warningsEqualHeld && oldest !== undefined)
      this.written.delete(oldest);
    this.written.set(key, { atMs: nowMs, more: 0 });
    return 1 + (last?.more ?? 0);
  }
}

/** Of an error its words, because its stack differs by the caller. */
function keyOf(fields: object, message: string | undefined): string {
  const words = Object.entries(fields).map(
    ([name, value]) => `${name}=${value instanceof Error ? value.message : inspect(value)}`,
  );
  return `${message} ${words.join(' ')}`;
}
