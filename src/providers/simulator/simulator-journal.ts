import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readChunk } from './simulator-record';

/**
 * The writing side of a record file. Several processes may have it open: each appends whole batches by
 * one write (O_APPEND keeps them apart) and takes in what the others wrote before it decides anything.
 *
 * Nothing is synced to the disk: the page cache outlives the process, and a power cut is not what the
 * simulator is to withstand.
 */
export class Journal {
  private closed = false;

  private constructor(
    private readonly descriptor: number,
    private readonly onLine: (line: string) => void,
    /** Where the first line not yet taken in begins. */
    private end: number,
  ) {}

  /** Takes in the file, and removes a last line that a kill cut short. */
  static async open(file: string, onLine: (line: string) => void): Promise<Journal> {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const journal = new Journal(openSync(file, 'a+', 0o600), onLine, 0);
    try {
      await journal.load();
      await journal.removeTornLine();
    } catch (error) {
      journal.close();
      throw error;
    }
    return journal;
  }

  /** Takes in what other processes have appended. */
  catchUp(): void {
    if (this.size() > this.end) while (this.takeChunk());
  }

  /** Whatever is appended next can be read again from here, perhaps after lines of other processes. */
  position(): number {
    return this.end;
  }

  append(text: string): void {
    const size = this.size();
    // Another process may have died in the middle of a line; ours must not continue it.
    const bytes = Buffer.from(size > this.end ? `\n${text}` : text);
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.descriptor, bytes, written, bytes.length - written);
    }
    // If another process wrote lines in between, the next catching up reads them, and ours once more.
    if (size === this.end && this.size() === size + bytes.length) this.end = size + bytes.length;
  }

  /** The lines of one chunk from a place that `position` returned, or from 0. */
  readFrom(from: number): { lines: string[]; next: number; isLast: boolean } {
    const { lines, next } = readChunk(this.descriptor, from);
    return { lines, next, isLast: next === from || next >= this.end };
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    closeSync(this.descriptor);
  }

  private async load(): Promise<void> {
    while (this.takeChunk()) await nextTurn();
  }

  private async removeTornLine(): Promise<void> {
    for (let size = this.size(); size > this.end; ) {
      // Another process may be in the middle of writing it; no write takes this long.
      await delay(20);
      await this.load();
      const now = this.size();
      if (now === size && now > this.end) ftruncateSync(this.descriptor, this.end);
      size = this.size();
    }
  }

  private takeChunk(): boolean {
    const { lines, next } = readChunk(this.descriptor, this.end);
    if (next === this.end) return false;
    for (const line of lines) this.onLine(line);
    this.end = next;
    return true;
  }

  private size(): number {
    return fstatSync(this.descriptor).size;
  }
}

/** Lets timers and input have their turn between two chunks of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
