import type { Readable } from 'node:stream';
import { readLines } from '../../csv/csv-lines';
import {
  emptyUpload,
  hasTooManyValues,
  headerOf,
  invalidHeader,
  type RowFinding,
  TOO_MANY_VALUES,
  UNREADABLE,
} from '../../csv/csv-problems';
import { type CsvRecord, readRecords } from '../../csv/csv-records';
import type { FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { ImportRow } from './contact-import';
import { CONTACT_FIELDS, PARAM_NAME } from './contact-row';

/**
 * Reads the rows of a CSV of any length as it arrives. The first row names the columns. A contact's fields are
 * recognized in any case; every other column becomes a param. A file with an unusable first row is refused
 * before anything is stored.
 */
export async function* readCsvRows(source: Readable): AsyncGenerator<ImportRow> {
  let columns: Column[] | undefined;
  for await (const record of readRecords(source)) {
    if (columns) yield toRow(record, columns);
    else columns = readHeader(record);
  }
  if (!columns) throw emptyUpload();
}

/** Where a column's values go; `undefined` for a column without a name. */
type Column = { field: string } | { param: string } | undefined;

const FIELD_BY_NAME = new Map<string, string>(CONTACT_FIELDS.map((field) => [field.toLowerCase(), field]));

/** Errors never repeat column names, because without a header row they are a person's address. */
function readHeader(record: CsvRecord): Column[] {
  const columns = headerOf(record).map(toColumn);
  const firstOf = new Map<string, number>();
  const errors: FieldError[] = columns.flatMap((column, i) => {
    const key = JSON.stringify(column) ?? i.toString();
    const first = firstOf.get(key);
    if (first === undefined) firstOf.set(key, i);
    const problem = first === undefined ? nameProblem(column, i) : duplicate(i, first);
    return problem ? [{ path: `header.${i + 1}`, ...problem }] : [];
  });
  if (!columns.some((column) => column && 'field' in column && ['email', 'phone'].includes(column.field))) {
    const message = 'The first line must name the columns, and one of them must be email or phone';
    errors.push({ path: 'header', code: 'no_address_column', message });
  }
  if (columns.filter((column) => column && 'param' in column).length > LIMITS.paramsKeys) {
    const message = `There are more than ${LIMITS.paramsKeys} columns beside those of a contact`;
    errors.push({ path: 'header', code: 'too_many', message });
  }
  if (errors.length > 0) throw invalidHeader(errors.slice(0, LIMITS.importErrorsListed));
  return columns;
}

function toColumn(name: string): Column {
  if (name === '') return undefined;
  const field = FIELD_BY_NAME.get(name.toLowerCase());
  return field ? { field } : { param: name.toUpperCase().replace(/[^A-Z0-9]/g, '_') };
}

function nameProblem(column: Column, index: number): Omit<FieldError, 'path'> | undefined {
  if (!column || 'field' in column) return undefined;
  if (PARAM_NAME.test(column.param) && column.param.length <= LIMITS.paramsKeyChars) return undefined;
  const message = `Column ${index + 1}: a name begins with a letter (A to Z) and has at most ${LIMITS.paramsKeyChars} characters`;
  return { code: 'invalid_column', message };
}

function duplicate(index: number, first: number): Omit<FieldError, 'path'> {
  return {
    code: 'duplicate_column',
    message: `Column ${index + 1} has the same name as column ${first + 1}`,
  };
}

function toRow(record: CsvRecord, columns: readonly Column[]): ImportRow {
  const { line } = record;
  if ('problem' in record) return { line, finding: UNREADABLE[record.problem] };
  if (hasTooManyValues(record.values, columns.length)) return { line, finding: TOO_MANY_VALUES };
  const raw: Record<string, unknown> = {};
  const params: Record<string, string> = {};
  for (const [i, value] of record.values.entries()) {
    const column = columns[i];
    if (!column) continue;
    if ('field' in column) raw[column.field] = value;
    else params[column.param] = value.trim();
  }
  return { line, raw: { ...raw, params } };
}

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
