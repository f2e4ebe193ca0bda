import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Channel } from '../../domain/channel';
import type { CallStep } from './simulator-calls';
import { IdTable } from './simulator-ids';
import type { Fate } from './simulator-outcomes';

/**
 * The simulator's record: what a carrier would know, kept apart from the product's own tables so that
 * tests can hold one against the other. One file per channel, only ever appended to, of JSON lines:
 *
 *   {"id":…,"at":…,"uid":…,"attempt":…,"providerId":…,"to":…,"outcome":…}   taken: it reaches a person
 *   the same with "steps":[…]           a call that is answered: its receipts to come
 *   {"taken":[id,…],"at":…}            the product has taken every receipt of these
 *
 * `to` is the beginning of the address's SHA-256. A line cut short by a kill is not counted.
 */
export interface RecordedHandOver {
  id: string;
  at: string;
  uid: string;
  attempt: number;
  providerId: string;
  to: string;
  outcome: Fate;
  /** Receipts of an answered call. They depend on the call's document, which the record does not keep. */
  steps?: readonly CallStep[] | undefined;
}

export interface RecordSummary {
  /** Times a message was taken, and so reached a person. */
  handOvers: number;
  /** Different messages among them. */
  distinct: number;
  /** Messages taken more than once. */
  duplicates: string[];
  /** uids taken under more than one message id. */
  duplicateUids: string[];
  byOutcome: Partial<Record<Fate, number>>;
  /** Messages of which the product has taken every receipt. */
  receiptsTaken: number;
  /** Lines that a kill cut short. */
  damaged: number;
  firstAt: string | undefined;
  lastAt: string | undefined;
}

export function recordFile(directory: string, channel: Channel): string {
  return join(directory, `${channel}.log`);
}

/** Counts a record that may still be written to; only reads. A record that is not there is empty. */
export function readRecord(directory: string, channel: Channel): RecordSummary {
  const ids = new IdTable();
  const uids = new IdTable();
  const summary: RecordSummary = {
    handOvers: 0,
    distinct: 0,
    duplicates: [],
    duplicateUids: [],
    byOutcome: {},
    receiptsTaken: 0,
    damaged: 0,
    firstAt: undefined,
    lastAt: undefined,
  };
  for (const line of recordLines(directory, channel)) {
    const entry = parseLine(line);
    if (!entry) summary.damaged++;
    else if ('taken' in entry) summary.receiptsTaken += entry.taken.length;
    else {
      summary.handOvers++;
      summary.byOutcome[entry.outcome] = (summary.byOutcome[entry.outcome] ?? 0) + 1;
      summary.firstAt ??= entry.at;
      summary.lastAt = entry.at;
      if (!ids.add(entry.id)) summary.duplicates.push(entry.id);
      else if (!uids.add(entry.uid)) summary.duplicateUids.push(entry.uid);
    }
  }
  summary.distinct = ids.size;
  return summary;
}

/** Every hand-over of a record, in order. */
export function* readHandOvers(directory: string, channel: Channel): Generator<RecordedHandOver> {
  for (const line of recordLines(directory, channel)) {
    const entry = parseLine(line);
    if (entry && 'id' in entry) yield entry;
  }
}

export function handOverLine(entry: RecordedHandOver): string {
  const id = JSON.stringify(entry.id);
  const uid = JSON.stringify(entry.uid);
  const steps = entry.steps ? `,"steps":${JSON.stringify(entry.steps)}` : '';
  return `{"id":${id},"at":"${entry.at}","uid":${uid},"attempt":${entry.attempt},"providerId":"${entry.providerId}","to":"${entry.to}","outcome":"${entry.outcome}"${steps}}\n`;
}

export function takenLine(ids: readonly string[], at: string): string {
  return `${JSON.stringify({ taken: ids, at })}\n`;
}

/** `undefined` for a line that a kill cut short, or that followed one. */
export function parseLine(line: string): RecordedHandOver | { taken: string[]; at: string } | undefined {
  try {
    return JSON.parse(line) as RecordedHandOver | { taken: string[]; at: string };
  } catch {
    return undefined;
  }
}

/** The id of a hand-over's line without parsing all of it; `undefined` for any other line. */
export function idOfLine(line: string): string | undefined {
  if (!line.startsWith('{"id":"') || !line.endsWith('}')) return undefined;
  const end = line.indexOf('"', 7);
  const id = line.slice(7, end);
  return id.includes('\\') ? (parseLine(line) as RecordedHandOver | undefined)?.id : id;
}

const CHUNK_BYTES = 512 * 1024;

/**
 * The whole lines of one chunk of a file that begins at a line's start, and where the next one begins,
 * which is where this one did when there is no whole line.
 */
export function readChunk(descriptor: number, from: number): { lines: string[]; next: number } {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const length = readSync(descriptor, buffer, 0, CHUNK_BYTES, from);
  const end = length === 0 ? -1 : buffer.lastIndexOf(10, length - 1);
  if (end < 0) {
    // No line of ours is as long as a chunk: bytes like that are damage, and are passed over.
    return { lines: [], next: length === CHUNK_BYTES ? from + length : from };
  }
  return { lines: buffer.toString('utf8', 0, end).split('\n'), next: from + end + 1 };
}

function* recordLines(directory: string, channel: Channel): Generator<string> {
  let descriptor: number;
  try {
    descriptor = openSync(recordFile(directory, channel), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    const size = fstatSync(descriptor).size;
    for (let from = 0; from < size; ) {
      const { lines, next } = readChunk(descriptor, from);
      if (next === from) return;
      for (const line of lines) if (line !== '') yield line;
      from = next;
    }
  } finally {
    closeSync(descriptor);
  }
}
