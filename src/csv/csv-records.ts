import type { Readable } from 'node:stream';
import Papa from 'papaparse';
import { LIMITS } from '../domain/limits';
import { type Line, readLines } from './csv-lines';

/** One row of a CSV, numbered by its first line; a row without values could not be read. */
export type CsvRecord =
  | { line: number; values: string[] }
  | { line: number; problem: 'line_too_long' | 'not_utf8' | 'unclosed_quote' | 'invalid_quotes' };

const DELIMITERS = [',', ';', '\t'];
/** An address or a note has a few line breaks; a quote that stays open for longer was never closed. */
const LINES_MAX = 100;

/**
 * Reads a CSV record by record; the first record decides the delimiter. A quoted value may continue over
 * several lines. If it is never closed, only its first line is lost and reading continues with the next one, so
 * that one stray quote does not swallow the rows after it. Blank lines and rows without any value are skipped.
 */
export async function* readRecords(source: Readable): AsyncGenerator<CsvRecord> {
  const lines = new Lookahead(readLines(source));
  let delimiter: string | undefined;
  for (let line = await lines.next(); line; line = await lines.next()) {
    if ('problem' in line) {
      yield { line: line.number, problem: line.problem };
      continue;
    }
    if (line.text.trim() === '') continue;
    delimiter ??= Papa.parse(line.text, { delimitersToGuess: DELIMITERS }).meta.delimiter;
    const record = await completeRecord(line, lines, delimiter);
    if (!isBlank(record)) yield record;
  }
}

/** Spreadsheets write delimiters alone for rows that were emptied or only formatted. */
const isBlank = (record: CsvRecord): boolean =>
  'values' in record && record.values.every((value) => value.trim() === '');

async function completeRecord(
  first: { number: number; text: string },
  lines: Lookahead,
  delimiter: string,
): Promise<CsvRecord> {
  if (!first.text.includes('"')) return { line: first.number, values: first.text.split(delimiter) };
  let text = first.text;
  let state = scanQuotes(first.text, delimiter, 'start');
  let ahead = 0;
  while (state === 'open') {
    const next = ahead + 1 < LINES_MAX ? await lines.peek(ahead) : undefined;
    if (!next || 'problem' in next || text.length + next.text.length > LIMITS.csvLineBytes) {
      return { line: first.number, problem: 'unclosed_quote' };
    }
    text += `\n${next.text}`;
    state = scanQuotes(next.text, delimiter, 'open');
    ahead++;
  }
  if (state === 'broken') {
    return { line: first.number, problem: ahead === 0 ? 'invalid_quotes' : 'unclosed_quote' };
  }
  lines.skip(ahead);
  return {
    line: first.number,
    values: Papa.parse<string[]>(text, { delimiter, newline: '\n' }).data[0] ?? [],
  };
}

/**
 * Whether a quoted value is still open at the end of a line, or is followed by something other than a
 * delimiter. Linear in the line; between lines it keeps only the result.
 */
function scanQuotes(text: string, delimiter: string, before: 'start' | 'open'): 'closed' | 'open' | 'broken' {
  let at = 0;
  let inside = before === 'open';
  for (;;) {
    if (!inside) {
      if (text[at] !== '"') {
        const next = text.indexOf(delimiter, at);
        if (next === -1) return 'closed';
        at = next + 1;
        continue;
      }
      at++;
    }
    inside = false;
    let quote = text.indexOf('"', at);
    while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
    if (quote === -1) return 'open';
    if (quote + 1 === text.length) return 'closed';
    if (text[quote + 1] !== delimiter) return 'broken';
    at = quote + 2;
  }
}

/** Lines that were read and may be read again; at most LINES_MAX of them. */
class Lookahead {
  private readonly seen: Line[] = [];

  constructor(private readonly lines: AsyncGenerator<Line>) {}

  async next(): Promise<Line | undefined> {
    return this.seen.shift() ?? this.pull();
  }

  async peek(ahead: number): Promise<Line | undefined> {
    while (this.seen.length <= ahead) {
      const line = await this.pull();
      if (!line) return undefined;
      this.seen.push(line);
    }
    return this.seen[ahead];
  }

  skip(count: number): void {
    this.seen.splice(0, count);
  }

  private async pull(): Promise<Line | undefined> {
    const { done, value } = await this.lines.next();
    return done ? undefined : value;
  }
}
