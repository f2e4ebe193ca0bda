import type { CountryCode } from 'libphonenumber-js/max';
import type { RowFinding } from '../../csv/csv-problems';
import { DomainError, isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type ContactRow, checkContact, type RawContact } from './contact-row';
import type { UpsertCounts } from './contacts';

/** A row of an import with its number: the line of a CSV, or the element of an array from 1. */
export type ImportRow = { line: number; raw: unknown } | { line: number; finding: RowFinding };

export interface ImportReport extends UpsertCounts {
  received: number;
  rejected: number;
  /** The first thousand errors; `rejected` counts all. */
  errors: (RowFinding & { line: number })[];
}

/** Where an import goes, and the country of phone numbers without a country code. */
export interface ImportTarget {
  country?: CountryCode | undefined;
  /** Stores a batch in one transaction. */
  store: (batch: readonly ContactRow[]) => Promise<UpsertCounts>;
}

/** Rows stored in one transaction. */
const BATCH_ROWS = 1_000;
/** A batch with large params ends early, so that memory stays flat whatever the rows contain. */
const BATCH_CHARS = 4_000_000;

/**
 * Judges and stores rows as they arrive, in batches. It waits for a batch before it reads the next row. A row
 * that cannot be stored is reported, and the import continues. If the process is killed, whole batches are
 * stored; importing the same file again finds them unchanged.
 */
export async function importContacts(
  { country, store }: ImportTarget,
  rows: AsyncIterable<ImportRow> | Iterable<ImportRow>,
): Promise<ImportReport> {
  const report: ImportReport = { received: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] };
  let batch: ContactRow[] = [];
  let chars = 0;
  const flush = async () => {
    const counts = await store(batch);
    report.created += counts.created;
    report.updated += counts.updated;
    report.unchanged += counts.unchanged;
    batch = [];
    chars = 0;
  };
  try {
    for await (const row of rows) {
      report.received++;
      const checked = checkImported(row, country);
      if ('findings' in checked) {
        reject(report, row.line, checked.findings);
        continue;
      }
      batch.push(checked.row);
      chars += charsOf(checked.row);
      if (isFull(batch.length, chars)) await flush();
    }
  } catch (error) {
    throw isDomainError(error) && error.code === 'unauthenticated' ? withCounts(error, report) : error;
  }
  if (batch.length > 0) await flush();
  return report;
}

/** Says what was stored before the caller's session ended, because they get no report of it. */
function withCounts({ code, message }: DomainError, report: ImportReport): DomainError {
  const { received, created, updated, unchanged, rejected } = report;
  const counts = `${created} were created, ${updated} updated, ${unchanged} unchanged and ${rejected} refused`;
  return new DomainError(
    code,
    `${message}. Of ${received} rows that were read ${counts}; the others were not imported`,
  );
}

function checkImported(row: ImportRow, country: CountryCode | undefined): CheckedRow {
  return 'finding' in row ? { findings: [row.finding] } : checkRow(row.raw, country);
}

type CheckedRow = ReturnType<typeof checkContact>;

export function checkRow(raw: unknown, country: CountryCode | undefined): CheckedRow {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) {
    return checkContact(raw as RawContact, country);
  }
  return { findings: [{ field: '', code: 'not_an_object', message: 'must be an object' }] };
}

const isFull = (rows: number, chars: number) => rows >= BATCH_ROWS || chars >= BATCH_CHARS;

/** Cuts rows that were checked already into batches like those of an import. */
export function* batchesOf(rows: readonly ContactRow[]): Generator<readonly ContactRow[]> {
  let from = 0;
  let chars = 0;
  for (const [at, row] of rows.entries()) {
    chars += charsOf(row);
    if (!isFull(at + 1 - from, chars)) continue;
    yield rows.slice(from, at + 1);
    from = at + 1;
    chars = 0;
  }
  if (from < rows.length) yield rows.slice(from);
}

function reject(report: ImportReport, line: number, findings: RowFinding[]): void {
  report.rejected++;
  for (const finding of findings) {
    if (report.errors.length >= LIMITS.importErrorsListed) return;
    report.errors.push({ line, ...finding });
  }
}

function charsOf(row: ContactRow): number {
  let chars = 0;
  for (const value of Object.values(row.params)) chars += String(value).length;
  return chars;
}
