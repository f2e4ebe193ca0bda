/**
 * A parameter in PostgreSQL's text form, as its Node driver writes it. The driver rewrites every string because
 * of a few; this function rewrites only those.
 */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const MUST_BE_ESCAPED = /["\\]/;
const ESCAPED_EACH = /["\\]/g;

function elementOf(value: unknown): string {
  if (Array.isArray(value)) return textOf(value) as string;
  const text = textOf(value);
  if (text === null) return 'NULL';
  return MUST_BE_ESCAPED.test(text) ? `"${text.replace(ESCAPED_EACH, '\\$&')}"` : `"${text}"`;
}
