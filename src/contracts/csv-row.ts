/**
 * One row of a CSV (RFC 4180), with its line end. Values are written as they are: who reads a report joins it
 * by address and uid, and an export can be imported again. So a value that begins with `=`, `+`, `-` or `@`,
 * as every phone number does, gets no quote or space before it; why, and what follows for a person who opens a
 * file in a spreadsheet, is in docs/decisions/0007-csv-values-as-they-are.md.
 */
export function csvRow(values: readonly string[]): string {
  return `${values.map(quoted).join(',')}\r\n`;
}

const quoted = (value: string): string =>
  /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
