import type { Readable } from 'node:stream';
import { readLines } from '../../csv/csv-lines';
import { type RowFinding, UNREADABLE } from '../../csv/csv-problems';
import type { ImportRow } from './contact-import';

const NOT_JSON: RowFinding = { field: '', code: 'not_json', message: 'is not one JSON object on one line' };

/**
 * Reads the rows of newline-delimited JSON of any length as it arrives: one contact per line; blank lines are
 * skipped.
 */
export async function* readNdjsonRows(source: Readable): AsyncGenerator<ImportRow> {
  for await (const { number, ...line } of readLines(source)) {
    if ('problem' in line) yield { line: number, finding: UNREADABLE[line.problem] };
    else if (line.text.trim() !== '') yield parseLine(number, line.text);
  }
}

function parseLine(line: number, text: string): ImportRow {
  try {
    return { line, raw: JSON.parse(text) };
  } catch {
    return { line, finding: NOT_JSON };
  }
}
