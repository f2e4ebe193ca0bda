/** Who did what: one chain of entries a workspace. */
export const UP = `
-- The end of each workspace's chain. Whoever appends locks the row, so that entries of several processes follow each
-- other. \`sealed_start\` says, encrypted, where retention has cut the chain; null while it is whole.
create table audit_chains (
  workspace_id text primary key,
  last_seq bigint not null default 0,
  last_hash text,
  last_at timestamptz,
  sealed_start text,
  key_id text
);

-- Rows are added, and deleted from the beginning by retention. They are never updated.
create table audit_entries (
  workspace_id text not null,
  seq bigint not null,
  id text not null unique,
  at timestamptz not null,
  actor_kind text not null,
  actor_id text,
  address text,
  request_id text,
  action text not null,
  object_kind text not null,
  object_id text,
  result text not null,
  detail jsonb not null,
  prev text,
  hash text not null,
  primary key (workspace_id, seq)
);
create index audit_entries_by_actor on audit_entries (workspace_id, actor_id, seq);
create index audit_entries_by_object on audit_entries (workspace_id, object_id, seq);
create index audit_entries_by_action on audit_entries (workspace_id, action, seq);
create index audit_entries_by_time on audit_entries (workspace_id, at, seq);
`;
