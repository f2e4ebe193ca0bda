/**
 * Recipients as people paste them: a table with a heading row, separated by commas, semicolons or tabs, or one address
 * a line. What is wrong with a row is for the API to say, in its own words and for all rows alike.
 */
export interface PastedRecipient {
  externalId?: string;
  name?: string;
  email?: string;
  phone?: string;
  timezone?: string;
  locale?: string;
  params?: Record<string, string>;
}

const FIELDS: Record<string, Exclude<keyof PastedRecipient, 'params'>> = {
  externalid: 'externalId',
  name: 'name',
  email: 'email',
  phone: 'phone',
  timezone: 'timezone',
  locale: 'locale',
};

/**
 * The text of a file; undefined where it is not UTF-8, as an import refuses it. Read as UTF-8 all the same, `Müller` of
 * an older spreadsheet would be addressed with a question mark in the name.
 */
export function textOfFile(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function recipientsOf(text: string): PastedRecipient[] {
  const rows = rowsOf(text.replace(/^\uFEFF/, '')).filter((row) => row.some((cell) => cell.trim() !== ''));
  const [heading = [], ...rest] = rows;
  const names = heading.map((cell) => cell.trim());
  const isTable = names.some((name) => Object.hasOwn(FIELDS, fieldName(name)));
  if (!isTable) return rows.map(([cell = '']) => addressed(cell.trim()));
  return rest.map((row) => recipientOf(names, row));
}

/** Digits stay, because the second of two phone columns is another column: `phone 2` must not replace `phone`. */
const fieldName = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

const addressed = (address: string): PastedRecipient =>
  address.includes('@') ? { email: address } : { phone: address };

function recipientOf(names: readonly string[], row: readonly string[]): PastedRecipient {
  const recipient: PastedRecipient = {};
  const params: Record<string, string> = {};
  names.forEach((name, column) => {
    const value = (row[column] ?? '').trim();
    if (value === '' || name === '') return;
    const field = FIELDS[fieldName(name)];
    if (field) recipient[field] = value;
    // As an import names them (docs/contacts.md).
    else params[name.toUpperCase().replace(/[^A-Z0-9]/g, '_')] = value;
  });
  return Object.keys(params).length === 0 ? recipient : { ...recipient, params };
}

/** RFC 4180, with the separator that the first line has most of. */
function rowsOf(text: string): string[][] {
  const separator = separatorOf(text);
  const rows: string[][] = [[]];
  let cell = '';
  let isQuoted = false;
  const endCell = () => {
    rows.at(-1)?.push(cell);
    cell = '';
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else isQuoted = false;
    } else if (char === '"' && cell === '') isQuoted = true;
    else if (char === separator) endCell();
    else if (char === '\n') {
      endCell();
      rows.push([]);
    } else if (char !== '\r') cell += char;
  }
  endCell();
  return rows;
}

function separatorOf(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  const count = (separator: string) => line.split(separator).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}
