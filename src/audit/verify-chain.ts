import { type AuditEntry, hashOf } from './entry';

export interface ChainFinding {
  /** Entries that were read. */
  entries: number;
  /** Hash of the last entry that was read. */
  last: string | null;
  /** The first fault; without it the chain is whole. */
  fault?: { id: string | null; problem: string };
}

/** What the reader knows of the chain besides its entries. */
export interface KnownEnds {
  /**
   * Hash before the first entry: null where nothing was cut off; undefined where only the entries show it.
   */
  start?: string | null | undefined;
  /** Hashes that must be among the entries, such as that of the newest or one that was noted long ago. */
  contains?: readonly string[];
}

/**
 * Reads a chain from its oldest entry on, and finds the first that was changed, removed or put in between.
 * Each entry is hashed anew, and has to follow the entry before it. If nothing is known about the beginning,
 * an entry about a cut by retention must name it.
 */
export async function verifyChain(
  entries: AsyncIterable<AuditEntry>,
  { start, contains = [] }: KnownEnds = {},
): Promise<ChainFinding> {
  const missing = new Set(contains);
  const cuts = new Set<unknown>();
  let first: AuditEntry | undefined;
  let before: AuditEntry | undefined;
  let count = 0;
  const found = (id: string | null, problem: string): ChainFinding => ({
    entries: count,
    last: before?.hash ?? null,
    fault: { id, problem },
  });

  for await (const entry of entries) {
    count += 1;
    first ??= entry;
    if (hashOf(entry) !== entry.hash) {
      return found(entry.id, `Entry ${entry.id} was changed: its content has another hash`);
    }
    if (!before && start !== undefined && entry.prev !== start) {
      return found(entry.id, `Entries before ${entry.id} are missing, and no cut by retention removed them`);
    }
    if (before && entry.prev !== before.hash) {
      const between = `or an entry between it and ${entry.id} was removed or added`;
      return found(before.id, `Entry ${before.id} was changed, ${between}: the two do not follow each other`);
    }
    if (entry.action === 'audit.cut') cuts.add(entry.detail.lastHash);
    missing.delete(entry.hash);
    before = entry;
  }
  if (start === undefined && first && first.prev !== null && !cuts.has(first.prev)) {
    const untold = 'and no entry tells of a cut by retention there';
    return found(first.id, `Entries before ${first.id} are missing, ${untold}`);
  }
  const [gone] = missing;
  if (gone !== undefined) {
    return found(before?.id ?? null, `The entry with the hash ${gone} is missing, and those after it`);
  }
  return { entries: count, last: before?.hash ?? null };
}
