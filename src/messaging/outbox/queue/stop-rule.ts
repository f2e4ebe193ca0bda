import type { RawBuilder } from 'kysely';

/**
 * SQL: a query of the workspaces that are stopped, of those given or of all (api.md 19, Stop). A stop is kept by
 * campaigns; src/app joins the two. As a part of the statement that opens a group it costs no round trip, and holds
 * for the same moment.
 */
export type StopRule = (among?: readonly string[]) => RawBuilder<{ workspace_id: string }>;
