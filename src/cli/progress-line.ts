/** Where a command prints. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface ProgressLine {
  /** Shows how far it is, in place of what was shown before. */
  update(text: string): void;
  /** Replaces the line for good; without a text it is only taken away. */
  finish(text?: string): void;
}

/** Without a terminal every update is a line of a log; more often than this nobody wants to read it. */
const PLAIN_INTERVAL_MS = 5_000;
const COLUMNS_UNKNOWN = 80;
const CLEAR_LINE = '\r\x1b[K';

/** One line that rewrites itself on a terminal; plain lines at a modest pace where there is none. */
export function createProgressLine(
  out: Output,
  {
    plainIntervalMs = PLAIN_INTERVAL_MS,
    now = Date.now,
  }: { plainIntervalMs?: number; now?: () => number } = {},
): ProgressLine {
  let shown = '';
  let shownAt = Number.NEGATIVE_INFINITY;
  const update = (text: string) => {
    if (text === shown) return;
    if (out.isTTY) {
      // A line that wraps would leave its first part behind at the next rewrite.
      out.write(CLEAR_LINE + text.slice(0, (out.columns || COLUMNS_UNKNOWN) - 1));
    } else {
      if (now() - shownAt < plainIntervalMs) return;
      out.write(`${text}\n`);
    }
    shown = text;
    shownAt = now();
  };
  const finish = (text?: string) => {
    if (out.isTTY && shown) out.write(CLEAR_LINE);
    if (text !== undefined && (out.isTTY || text !== shown)) out.write(`${text}\n`);
    shown = '';
    shownAt = Number.NEGATIVE_INFINITY;
  };
  return { update, finish };
}
