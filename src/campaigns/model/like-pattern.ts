/** A `like` pattern for a substring in which `%`, `_` and `\` stand for themselves. */
export function likePattern(substring: string): string {
  return `%${substring.replace(/[\\%_]/g, '\\$&')}%`;
}
