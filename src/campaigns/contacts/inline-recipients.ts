import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CountryCode } from 'libphonenumber-js/max';
import { checkRow } from './contact-import';
import type { ContactRow } from './contact-row';

/** The recipients in a campaign's request, each checked alone like a row of an import (api.md 19). */
export interface InlineRecipients {
  rows: ContactRow[];
  findings: RecipientFinding[];
}

export interface RecipientFinding {
  /** Index in the request's array, from 0. */
  index: number;
  /** Empty when the finding is about the row as a whole. */
  field: string;
  code: string;
  message: string;
}

/** Rows checked before other requests get the thread: some 10 ms, because phone numbers are parsed. */
const ROWS_A_TURN = 250;

export async function checkRecipients(
  raws: readonly unknown[],
  country: CountryCode | undefined,
): Promise<InlineRecipients> {
  const checked: InlineRecipients = { rows: [], findings: [] };
  for (const [index, raw] of raws.entries()) {
    if (index > 0 && index % ROWS_A_TURN === 0) await nextTurn();
    const result = checkRow(raw, country);
    if ('row' in result) checked.rows.push(result.row);
    else {
      for (const { field, code, message } of result.findings) {
        checked.findings.push({ index, field: code === 'no_address' ? '' : field, code, message });
      }
    }
  }
  return checked;
}
