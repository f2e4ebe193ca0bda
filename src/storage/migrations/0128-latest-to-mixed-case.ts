/**
 * Messages to an email address that was not written in lower case are found newest first, for one workspace, as those to
 * all other addresses are. The index before had no times: a list read every message to the address, also those of other
 * workspaces.
 */
export const UP = '';

/** Built while the table is written to (online-indexes.ts). */
export const INDEXES = `
create index messages_latest_to_mixed on messages (workspace_id,
  hashtextextended(lower(to_address collate "C"), 0), created_at)
  where to_address <> lower(to_address collate "C");
`;

/** Processes of the version before read this (online-indexes.ts). */
export const RETIRED = { indexes: ['messages_by_mixed_address'] };
