import type { Kysely } from 'kysely';
import type { CountryCode } from 'libphonenumber-js/max';
import type { RowFinding } from '../../csv/csv-problems';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../tables';
import { type ContactRow, judgeContact, type RawContact } from './contact-row';
import { type ListKey, type UpsertCounts, upsertContacts } from './contacts';

/** A row of an import, numbered as its sender counts: a CSV's lines, or an array's elements from 1. */
export type ImportRow = { line: number; raw: unknown } | { line: number; finding: RowFinding };

export interface ImportReport extends UpsertCounts {
  received: number;
  rejected: number;
  /** The first thousand; `rejected` counts all. */
  errors: (RowFinding & { line: number })[];
}

/** Where an import goes, and the region of phone numbers that name none. */
export interface ImportTarget extends ListKey {
  country?: CountryCode | undefined;
}

/** Rows stored in one transaction. */
const BATCH_ROWS = 1_000;
/** A batch of large params is cut short, so that memory stays flat whatever the rows hold. */
const BATCH_CHARS = 4_000_000;

/**
 * Judges and stores rows as they come, batch by batch; a batch is awaited before the next row is asked
 * for. A row that cannot be stored is reported and stops nobody. Killed in the middle, whole batches are
 * in; importing the same again finds them unchanged.
 */
export async function importContacts(
  db: Kysely<CampaignTables>,
  target: ImportTarget,
  rows: AsyncIterable<ImportRow> | Iterable<ImportRow>,
): Promise<ImportReport> {
  const report: ImportReport = { received: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] };
  let batch: ContactRow[] = [];
  let chars = 0;
  const flush = async () => {
    const counts = await upsertContacts(db, target, batch);
    report.created += counts.created;
    report.updated += counts.updated;
    report.unchanged += counts.unchanged;
    batch = [];
    chars = 0;
  };
  for await (const row of rows) {
    report.received++;
    const judged = judge(row, target.country);
    if ('findings' in judged) {
      reject(report, row.line, judged.findings);
      continue;
    }
    batch.push(judged.row);
    chars += charsOf(judged.row);
    if (batch.length >= BATCH_ROWS || chars >= BATCH_CHARS) await flush();
  }
  await flush();
  return report;
}

function judge(row: ImportRow, country: CountryCode | undefined): ReturnType<typeof judgeContact> {
  if ('finding' in row) return { findings: [row.finding] };
  if (typeof row.raw !== 'object' || row.raw === null || Array.isArray(row.raw)) {
    return { findings: [{ field: '', code: 'not_an_object', message: 'must be an object' }] };
  }
  return judgeContact(row.raw as RawContact, country);
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
