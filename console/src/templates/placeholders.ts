const PLACEHOLDER = /\{\{\s*([A-Z][A-Z0-9_]*)\s*\}\}/g;

/** The placeholders of some texts, each once, in order of first appearance. */
export function placeholdersIn(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name ?? ''));
  return [...new Set(names)];
}

/** A text with values in place of placeholders; one without a value stays as it is, so that it is seen. */
export function filled(
  text: string,
  values: Readonly<Record<string, string>>,
  encode: (value: string) => string = (value) => value,
): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => (values[name] ? encode(values[name]) : whole));
}

const MARKS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const asHtml = (value: string): string => value.replace(/[&<>"']/g, (mark) => MARKS[mark] ?? mark);
