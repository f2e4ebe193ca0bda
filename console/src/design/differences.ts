/** A line that both texts have, or only the newer (`added`), or only the older (`removed`). */
export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

/** Beyond this the table of common lines would be too large for a browser: the texts are then shown one after the other. */
const LINES_MAX = 1_500;

/** What a newer text has changed, line by line (the longest common subsequence). */
export function differencesOf(older: string, newer: string): Line[] {
  const a = older.split('\n');
  const b = newer.split('\n');
  if (a.length > LINES_MAX || b.length > LINES_MAX)
    return [...a.map(lineOf('removed')), ...b.map(lineOf('added'))];
  const common = commonLengths(a, b);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  const rest = (at: number, to: number) => common[at * (b.length + 1) + to] ?? 0;
  while (i < a.length || j < b.length) {
    const text = a[i] ?? '';
    if (i < a.length && j < b.length && text === b[j]) {
      lines.push({ kind: 'same', text });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || rest(i + 1, j) >= rest(i, j + 1))) {
      lines.push({ kind: 'removed', text });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: b[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** How many lines are common from each pair of places to the ends. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      lengths[at] =
        a[i] === b[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  }
  return lengths;
}

const lineOf =
  (kind: Line['kind']) =>
  (text: string): Line => ({ kind, text });
