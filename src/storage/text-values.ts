/**
 * A parameter in PostgreSQL's text form, as its Node driver writes it. The driver rewrites every string because
 * of a few; this function rewrites only those.
 */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return plainArray(value) ?? `{${value.map(elementOf).join(',')}}`;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A backslash before anything but a quote or another backslash, which JSON gives to control characters. */
const JSON_ONLY = /\\[^"\\]/;

/**
 * An array of texts, numbers and nulls, written as JSON, because one call for all elements is cheaper than one
 * for each. The two forms differ in their brackets and in control characters alone.
 */
function plainArray(values: readonly unknown[]): string | undefined {
  if (!values.every(isPlain)) return undefined;
  const json = JSON.stringify(values);
  return JSON_ONLY.test(json) ? undefined : `{${json.slice(1, -1)}}`;
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || value === null || value === undefined || Number.isFinite(value);

const MUST_BE_ESCAPED = /["\\]/;
const ESCAPED_EACH = /["\\]/g;

function elementOf(value: unknown): string {
  if (Array.isArray(value)) return textOf(value) as string;
  const text = textOf(value);
  if (text === null) return 'NULL';
  return MUST_BE_ESCAPED.test(text) ? `"${text.replace(ESCAPED_EACH, '\\$&')}"` : `"${text}"`;
}
