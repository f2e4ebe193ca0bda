import type { FieldError } from '../../domain/errors';

/**
 * Text that is legal in JSON and that no database column accepts: U+0000, and halves of surrogate pairs. It is
 * refused here, where the answer can name the field.
 */
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** The JSON escapes of such text; a body without them needs no further check. */
const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;

export const maybeUnstorable = (json: string): boolean => SUSPICIOUS.test(json);

/** The first such text in a parsed body or query, including keys, but for what is at the path `except`. */
export function findUnstorable(root: unknown, except?: string): FieldError | undefined {
  // It keeps its own stack, because a body of brackets nests deeper than recursion can.
  const waiting: { value: unknown; path: string }[] = [{ value: root, path: '' }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    if (path === except) continue;
    if (typeof value === 'string' && UNSTORABLE.test(value)) return finding(path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (UNSTORABLE.test(key)) return finding(path);
      waiting.push({ value: child, path: path === '' ? key : `${path}.${key}` });
    }
  }
  return undefined;
}

const finding = (path: string): FieldError => ({
  path,
  code: 'invalid_text',
  message: 'Text may not hold U+0000 or half of a surrogate pair',
});
