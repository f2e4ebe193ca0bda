/** A value that JSON can hold, as RFC 8785 reads it. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/**
 * JSON by RFC 8785: no white space, members sorted by the UTF-16 units of their names, numbers and strings as
 * ECMAScript writes them. Two programs that have the same value write the same bytes, so that a hash of them can
 * be checked by anyone.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('JSON has no such number');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value as Record<string, Json>)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
