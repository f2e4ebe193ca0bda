/** Campaigns that count for a workspace's bound, which each new one asks for. Archived ones gather over years. */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index campaigns_in_use on campaigns (workspace_id) where archived_at is null;
`;
