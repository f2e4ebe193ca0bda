/** Long enough to hide the server's 10 ms per page, short enough that a shard reacts within seconds. */
const PAGE_TARGET_MS = 2_000;
const PAGE_MIN = 50;
/** Workflows decide by it, so that it is not in LIMITS (workflows/constants.ts). */
const PAGE_MAX = 5_000;

/** The size of a shard's next page, from how long the last one took. It at most doubles or halves. */
export function nextPageSize(last: { size: number; durationMs: number }): number {
  const ideal = Math.round((last.size * PAGE_TARGET_MS) / Math.max(1, last.durationMs));
  const bounded = Math.min(last.size * 2, Math.max(Math.floor(last.size / 2), ideal));
  return Math.max(PAGE_MIN, Math.min(PAGE_MAX, bounded));
}
