/**
 * What workflows decide by. A history that was recorded under one value is replayed under the present one, so that a
 * change here needs `patched` wherever it changes which commands a workflow gives. LIMITS, which may be tuned freely,
 * are therefore not used for decisions of workflows.
 */

/** Events after which a workflow continues as new. The server suggests it at 4,096, and ends one at 51,200. */
export const HISTORY_EVENTS = 3_000;
/** A run whose shards are under way starts no more of them beyond this; only for executions of an earlier release. */
export const HISTORY_EVENTS_BESIDE_SHARDS = 15_000;
/** A sleeping run looks by itself after this, in case that a wake was lost; none is, unless a table is put back. */
export const RUN_LOOK_MS = 60 * 60_000;

/** Pages that a shard sends at once; also `LIMITS.lanesPerShard`, by which the ledger shares small shards out. */
export const LANES_PER_SHARD = 2;
/** Recipients of a shard's first page; the next follow from how long the last one took. */
export const FIRST_PAGE = 5_000;
/** Due retries are gathered for this share of the time since sending began, and for a minute at most. */
export const GATHER_SHARE = 0.05;
export const GATHER_MAX_MS = 60_000;
