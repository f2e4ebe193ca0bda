import { DomainError, type FieldError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { CsvRecord } from './csv-records';

/**
 * Messages about uploads and rows that cannot be read. They never repeat a row's content, because it may be an
 * address.
 */

/** Why a row was refused. */
export interface RowFinding {
  field: string;
  code: string;
  message: string;
}

export const UNREADABLE: Record<Extract<CsvRecord, { problem: string }>['problem'], RowFinding> = {
  line_too_long: {
    field: '',
    code: 'line_too_long',
    message: `is longer than ${LIMITS.csvLineBytes} bytes`,
  },
  not_utf8: { field: '', code: 'not_utf8', message: 'is not UTF-8 text' },
  unclosed_quote: { field: '', code: 'unclosed_quote', message: 'opens a quote that is never closed' },
  invalid_quotes: {
    field: '',
    code: 'invalid_quotes',
    message: 'has text beside a quoted value; a quote inside one is written twice',
  },
};

/** A row that ends early lacks values; one that is too long has an unquoted delimiter somewhere. */
export function hasTooManyValues(values: readonly string[], columns: number): boolean {
  return values.slice(columns).some((value) => value.trim() !== '');
}

export const TOO_MANY_VALUES: RowFinding = {
  field: '',
  code: 'too_many_values',
  message: 'has more values than columns',
};

/** The names of the columns. Throws `invalid_request` for an upload that is no text. */
export function headerOf(record: CsvRecord): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is no text shows itself by these.
  if ('problem' in record || record.values.some((value) => /[\u0000-\u0008]/.test(value))) {
    throw notCsv('The upload is not CSV text in UTF-8; a spreadsheet must be exported as CSV (UTF-8) first');
  }
  // Otherwise the whole file is its header, and an import of it would find no rows and no fault.
  if (record.values.some((value) => value.includes('\r'))) {
    throw notCsv('The lines of the upload end in CR alone; export it with LF or CRLF at the ends of lines');
  }
  return record.values.map((name) => name.trim());
}

export const emptyUpload = (): DomainError => notCsv('The upload is empty');

export function invalidHeader(errors: FieldError[]): DomainError {
  return new DomainError('invalid_request', errors[0]?.message ?? 'The header cannot be used', { errors });
}

function notCsv(message: string): DomainError {
  return new DomainError('invalid_request', message, { errors: [{ path: '', code: 'not_csv', message }] });
}
