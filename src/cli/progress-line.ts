/** Where a command prints. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface ProgressLine {
  /** Shows the progress in place of the former text. */
  update(text: string): void;
  /** Replaces the line for good; without a text it is removed. */
  finish(text?: string): void;
}

/** Without a terminal every update is a log line, and more of them than this would be noise. */
const PLAIN_INTERVAL_MS = 5_000;
const COLUMNS_UNKNOWN = 80;
const CLEAR_LINE = '\r\x1b[K';

/** One line that rewrites itself on a terminal; elsewhere plain lines at a moderate rate. */
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
