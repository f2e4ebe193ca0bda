/**
 * Session settings. With the default cost of a random read, an update through `unnest` scans the whole table
 * once the table is large: 2.4 times slower at 100,000 rows, and growing with the table. JIT compilation costs
 * more than it saves on queries of a few milliseconds.
 */
export const PLANNER_SETTINGS: Record<string, string> = {
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
};
