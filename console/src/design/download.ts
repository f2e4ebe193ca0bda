/** Saves a text as a file of the person's own. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it when the click returns, and a moment more does no harm.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * Rows as CSV (RFC 4180). A cell that a spreadsheet would calculate begins with an apostrophe, because the file may
 * hold what a stranger typed.
 */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
}
