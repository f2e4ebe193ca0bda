import type { Readable } from 'node:stream';
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
import type { Suppression } from '../../domain/suppression';
import type { UpsertCounts } from './suppression-rows';

/** Validates a row's values by column name. The contract's schema does it, which this folder may not import. */
export type SuppressionImport = (
  values: Record<string, string>,
) => { block: Suppression } | { findings: RowFinding[] };

export interface SuppressionReport extends UpsertCounts {
  received: number;
  rejected: number;
  /** The first thousand errors; `rejected` counts all. */
  errors: (RowFinding & { line: number })[];
}

const COLUMNS = ['channel', 'address', 'reason', 'scope'] as const;
const REQUIRED = ['channel', 'address', 'reason'];
/** Rows stored in one statement. */
const BATCH_ROWS = 1_000;

/**
 * Validates and stores rows as they arrive, in batches. It waits for a batch before it reads the next row.
 * Other columns are ignored, so that exports of this or another system can be imported unchanged. If the
 * process is killed, whole batches are stored; importing again finds them unchanged.
 */
export async function importSuppressions(
  source: Readable,
  check: SuppressionImport,
  store: (blocks: Suppression[]) => Promise<UpsertCounts>,
): Promise<SuppressionReport> {
  const report: SuppressionReport = {
    received: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
    errors: [],
  };
  let columns: (string | undefined)[] | undefined;
  let batch: Suppression[] = [];
  const flush = async () => {
    const counts = await store(batch);
    report.created += counts.created;
    report.updated += counts.updated;
    report.unchanged += counts.unchanged;
    batch = [];
  };
  for await (const record of readRecords(source)) {
    if (!columns) {
      columns = readHeader(record);
      continue;
    }
    report.received++;
    const checked = checkRecord(record, columns, check);
    if ('findings' in checked) {
      report.rejected++;
      const room = LIMITS.importErrorsListed - report.errors.length;
      report.errors.push(...checked.findings.slice(0, room).map((one) => ({ line: record.line, ...one })));
      continue;
    }
    batch.push(checked.block);
    if (batch.length >= BATCH_ROWS) await flush();
  }
  if (!columns) throw emptyUpload();
  await flush();
  return report;
}

/** Errors never repeat column names, because without a header row they are a person's address. */
function readHeader(record: CsvRecord): (string | undefined)[] {
  const columns = headerOf(record).map((name) => COLUMNS.find((column) => column === name.toLowerCase()));
  const errors: FieldError[] = columns.flatMap((column, i): FieldError[] => {
    const first = columns.indexOf(column);
    if (!column || first === i) return [];
    const message = `Column ${i + 1} has the same name as column ${first + 1}`;
    return [{ path: `header.${i + 1}`, code: 'duplicate_column', message }];
  });
  for (const name of REQUIRED) {
    if (columns.some((column) => column === name)) continue;
    const message = `The first line must name the columns, and one of them must be ${name}`;
    errors.push({ path: 'header', code: 'missing_column', message });
  }
  if (errors.length > 0) throw invalidHeader(errors);
  return columns;
}

function checkRecord(
  record: CsvRecord,
  columns: readonly (string | undefined)[],
  check: SuppressionImport,
): ReturnType<SuppressionImport> {
  if ('problem' in record) return { findings: [UNREADABLE[record.problem]] };
  if (hasTooManyValues(record.values, columns.length)) return { findings: [TOO_MANY_VALUES] };
  const values: Record<string, string> = {};
  for (const [i, column] of columns.entries()) {
    if (column !== undefined) values[column] = record.values[i] ?? '';
  }
  return check(values);
}
