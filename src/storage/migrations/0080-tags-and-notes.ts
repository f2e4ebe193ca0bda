/** Campaigns are sorted by tags and put away; a template's versions say who made them and why. */
export const UP = `
alter table campaigns add column tags text[] not null default '{}', add column archived_at timestamptz;

-- The user or client that saved the version, and what they said about it. Null for versions from before.
alter table template_versions add column created_by text, add column note text;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- Campaigns that are yet to begin, or recur. Those that run are found by their runs.
create index campaigns_to_come on campaigns (workspace_id, id) where stage in ('scheduled', 'held');
`;
