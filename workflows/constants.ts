/**
 * Constants that workflows decide by. A history recorded under an old value is replayed under the present one.
 * A change here therefore needs `patched` wherever it changes the commands of a workflow. For the same reason,
 * workflows do not decide by LIMITS, which may be tuned freely; the bundler refuses its file (workers/bundle.ts).
 */

/**
 * Number of events after which a workflow continues as new. The server suggests it at 4,096 events, and ends a
 * workflow at 51,200.
 */
export const HISTORY_EVENTS = 3_000;
/**
 * A run with running shards starts no more of them beyond this number. Only executions of an earlier release
 * need it.
 */
export const HISTORY_EVENTS_BESIDE_SHARDS = 15_000;
/**
 * A sleeping run looks by itself after this time, in case a wake was lost. That happens only when a table is
 * restored.
 */
export const RUN_LOOK_MS = 60 * 60_000;

/**
 * Pages that a shard sends at once. `LIMITS.pageWorkersPerShard` must be the same, because the ledger divides small
 * shards by it.
 */
export const PAGE_WORKERS_PER_SHARD = 2;
/** Recipients on a shard's first page. Later sizes follow from how long the last page took. */
export const FIRST_PAGE = 5_000;
/** Due retries are gathered for this share of the time since sending began, and for a minute at most. */
export const GATHER_SHARE = 0.05;
export const GATHER_MAX_MS = 60_000;

/** After so long without a heartbeat, the server gives an activity to another worker. */
export const HEARTBEAT_SECONDS = 10;
